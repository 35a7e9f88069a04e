/**
 * The words of the wildlife-strikes report in each language. Airports, aircraft and species stay as the data have them.
 *
 * @since 0.1.0
 */
import type { Locale } from "../ReportJob.js"
import { whole } from "../ReportText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface WildlifeText {
  readonly title: string
  readonly allStates: string
  readonly period: (from: number, to: number) => string
  readonly tiles: {
    readonly strikes: string
    readonly damaged: string
    readonly cost: string
    readonly highest: string
  }
  readonly millions: string
  readonly years: string
  readonly phases: { readonly title: string; readonly table: string; readonly phase: string }
  readonly species: { readonly table: string; readonly species: string }
  readonly columns: {
    readonly strikes: string
    readonly damaged: string
    readonly cost: string
    readonly highest: string
  }
  readonly listing: {
    readonly title: (minCost: number) => string
    readonly none: string
    readonly columns: {
      readonly date: string
      readonly airport: string
      readonly state: string
      readonly aircraft: string
      readonly species: string
      readonly phase: string
      readonly damage: string
      readonly cost: string
    }
  }
  /** the words of the data that are few; what is not here stays as it is */
  readonly words: Readonly<Record<string, string>>
  readonly note: string
  readonly source: string
}

const en: WildlifeText = {
  title: "Wildlife strikes",
  allStates: "All states",
  period: (from, to) => (from === to ? `${from}` : `${from} to ${to}`),
  tiles: {
    strikes: "Reported strikes",
    damaged: "Did damage",
    cost: "Cost in all",
    highest: "The costliest strike"
  },
  millions: "million",
  years: "Strikes by year",
  phases: { title: "Strikes by phase of flight", table: "By phase of flight", phase: "Phase of flight" },
  species: { table: "By species", species: "Species" },
  columns: { strikes: "Strikes", damaged: "Did damage", cost: "Cost", highest: "Costliest" },
  listing: {
    title: (m) => (m === 0 ? "All strikes" : `Strikes that cost $${whole(m)} or more`),
    none: "No strike cost that much.",
    columns: {
      date: "Date",
      airport: "Airport",
      state: "State",
      aircraft: "Aircraft",
      species: "Species",
      phase: "Phase",
      damage: "Damage",
      cost: "Cost"
    }
  },
  words: {},
  note: "Strikes are reported voluntarily, and few reports name a cost. Costs are in US dollars of their time.",
  source: "Source: U.S. Federal Aviation Administration, Wildlife Strike Database; a selection of 10,000 reports."
}

const ko: WildlifeText = {
  title: "조류·야생동물 충돌 보고서",
  allStates: "전체 주",
  period: (from, to) => (from === to ? `${from}년` : `${from}년~${to}년`),
  tiles: {
    strikes: "보고된 충돌",
    damaged: "기체 손상 비율",
    cost: "총 비용",
    highest: "최대 비용 충돌"
  },
  millions: "백만",
  years: "연도별 충돌 건수",
  phases: { title: "비행 단계별 충돌 건수", table: "비행 단계별 현황", phase: "비행 단계" },
  species: { table: "종별 현황", species: "종" },
  columns: { strikes: "건수", damaged: "손상 비율", cost: "비용", highest: "최대 비용" },
  listing: {
    title: (m) => (m === 0 ? "전체 충돌" : `비용이 $${whole(m)} 이상인 충돌`),
    none: "해당하는 충돌이 없습니다.",
    columns: {
      date: "날짜",
      airport: "공항",
      state: "주",
      aircraft: "기종",
      species: "종",
      phase: "비행 단계",
      damage: "손상",
      cost: "비용"
    }
  },
  words: {
    Approach: "접근",
    Climb: "상승",
    "Take-off run": "이륙 활주",
    "Landing Roll": "착륙 활주",
    Descent: "강하",
    Taxi: "지상 활주",
    Parked: "주기",
    None: "없음",
    Minor: "경미",
    Medium: "중간",
    Substantial: "심각"
  },
  note: "충돌 보고는 자발적이며 비용이 기록된 보고는 많지 않습니다. 비용은 당시 미국 달러 기준입니다.",
  source: "출처: 미국 연방항공청(FAA) 야생동물 충돌 데이터베이스, 보고 10,000건 발췌."
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const textOf = (locale: Locale): WildlifeText => (locale === "ko" ? ko : en)
