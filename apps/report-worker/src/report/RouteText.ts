/**
 * The words of the route-traffic report in each language. Places stay as the data have them.
 *
 * @since 0.1.0
 */
import type { Locale } from "../ReportJob.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface RouteText {
  readonly title: string
  readonly period: string
  readonly tiles: {
    readonly flights: string
    readonly routes: string
    readonly reached: string
    readonly busiest: (route: string) => string
  }
  readonly busiest: string
  readonly byState: string
  readonly noState: string
  readonly states: {
    readonly table: string
    readonly state: string
    readonly airports: string
    readonly flights: string
    readonly share: string
  }
  readonly routes: {
    readonly table: string
    readonly here: string
    readonly there: string
    readonly outbound: string
    readonly inbound: string
    readonly both: string
  }
  readonly note: string
  readonly source: string
}

const en: RouteText = {
  title: "Route traffic",
  period: "2008",
  tiles: {
    flights: "Flights in both directions",
    routes: "Routes",
    reached: "Airports reached",
    busiest: (route) => `The busiest route: ${route}`
  },
  busiest: "The busiest routes, flights in both directions",
  byState: "Flights by state at the other end",
  noState: "no state",
  states: {
    table: "By state at the other end",
    state: "State",
    airports: "Airports",
    flights: "Flights",
    share: "Share"
  },
  routes: {
    table: "All routes",
    here: "Airport",
    there: "Other end",
    outbound: "Outbound",
    inbound: "Inbound",
    both: "Both"
  },
  note: "Flights of one year between two airports. A route inside the state is counted once.",
  source: "Source: U.S. Bureau of Transportation Statistics, Airline On-Time Performance, 2008."
}

const ko: RouteText = {
  title: "노선 교통량 보고서",
  period: "2008년",
  tiles: {
    flights: "왕복 항공편 수",
    routes: "노선 수",
    reached: "연결 공항",
    busiest: (route) => `최다 노선: ${route}`
  },
  busiest: "항공편이 많은 노선(왕복)",
  byState: "상대 공항의 주별 항공편 수",
  noState: "주 없음",
  states: { table: "상대 공항의 주별 현황", state: "주", airports: "공항", flights: "항공편 수", share: "비율" },
  routes: { table: "전체 노선", here: "공항", there: "상대 공항", outbound: "출발", inbound: "도착", both: "합계" },
  note: "두 공항 사이의 1년간 항공편 수입니다. 주 안의 노선은 한 번만 계산했습니다.",
  source: "출처: 미국 교통통계국(BTS) 항공사 정시 운항 통계, 2008년."
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const textOf = (locale: Locale): RouteText => (locale === "ko" ? ko : en)
