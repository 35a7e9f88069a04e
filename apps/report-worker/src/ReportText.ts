/**
 * The words of the reports in each language, and how numbers and dates are written. Written by hand and not by `Intl`,
 * whose output changes with the ICU of the Node that runs it: the same job has the same bytes.
 *
 * @since 0.1.0
 */
import type { Locale, Period } from "./ReportJob.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ReportText {
  /** BCP 47 */
  readonly language: string
  readonly title: string
  readonly period: (p: Period) => string
  readonly allAirports: string
  /** `2001-02-01` in words, short */
  readonly date: (date: string) => string
  /** by day of the week, 0 is Sunday */
  readonly weekdays: ReadonlyArray<string>
  readonly minutes: string
  readonly figures: {
    readonly flights: string
    readonly meanDelay: string
    readonly lateShare: (minutes: number) => string
    readonly longestDelay: string
  }
  readonly daily: {
    readonly title: string
    readonly weekday: string
    readonly weekend: string
    readonly sevenDays: string
  }
  readonly ranking: {
    readonly title: (ofOneAirport: boolean) => string
    readonly note: (flights: string) => string
  }
  readonly airports: {
    readonly title: (ofOneAirport: boolean) => string
    readonly more: (shown: string, all: string) => string
    readonly columns: {
      readonly airport: string
      readonly flights: string
      readonly meanDelay: string
      readonly lateShare: string
      readonly longestDelay: string
    }
  }
  readonly listing: {
    readonly title: (minDelay: number | undefined) => string
    readonly none: string
    readonly columns: {
      readonly departed: string
      readonly from: string
      readonly to: string
      readonly distance: string
      readonly delay: string
    }
  }
  readonly note: string
  readonly source: string
}

const months = "January February March April May June July August September October November December".split(" ")

const en: ReportText = {
  language: "en",
  title: "Flight delays",
  period: (p) => (p === "2001-Q1" ? "First quarter of 2001" : `${months[Number(p.slice(5)) - 1]} ${p.slice(0, 4)}`),
  allAirports: "All airports",
  date: (d) => `${Number(d.slice(8))} ${months[Number(d.slice(5, 7)) - 1]!.slice(0, 3)}`,
  weekdays: ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"],
  minutes: "min",
  figures: {
    flights: "Flights",
    meanDelay: "Mean arrival delay",
    lateShare: (m) => `Arrived ${m} min or more late`,
    longestDelay: "Longest delay"
  },
  daily: {
    title: "Mean arrival delay by day, in minutes",
    weekday: "Monday to Friday",
    weekend: "weekend",
    sevenDays: "mean of 7 days"
  },
  ranking: {
    title: (one) => `Longest mean delay by airport ${one ? "at the other end" : "of departure"}, in minutes`,
    note: (n) => `airports with ${n} flights or more`
  },
  airports: {
    title: (one) => (one ? "By airport at the other end" : "By airport of departure"),
    more: (shown, all) => `the ${shown} with most flights, of ${all}`,
    columns: {
      airport: "Airport",
      flights: "Flights",
      meanDelay: "Mean delay, min",
      lateShare: "15 min or more late",
      longestDelay: "Longest delay, min"
    }
  },
  listing: {
    title: (m) => (m === undefined ? "All flights" : `Flights that arrived ${m} minutes or more late`),
    none: "No flight arrived that late.",
    columns: { departed: "Departed", from: "From", to: "To", distance: "Miles", delay: "Delay, min" }
  },
  note: "Delays are those of arrival; early arrivals count as negative. Times are local to the airport of departure.",
  source: "Source: U.S. Bureau of Transportation Statistics, Airline On-Time Performance; a random sample of flights."
}

const ko: ReportText = {
  language: "ko",
  title: "항공편 지연 보고서",
  period: (p) => (p === "2001-Q1" ? "2001년 1분기" : `${p.slice(0, 4)}년 ${Number(p.slice(5))}월`),
  allAirports: "전체 공항",
  date: (d) => `${Number(d.slice(5, 7))}월 ${Number(d.slice(8))}일`,
  weekdays: ["일", "월", "화", "수", "목", "금", "토"],
  minutes: "분",
  figures: {
    flights: "항공편 수",
    meanDelay: "평균 도착 지연",
    lateShare: (m) => `${m}분 이상 지연 도착`,
    longestDelay: "최장 지연"
  },
  daily: {
    title: "일별 평균 도착 지연(분)",
    weekday: "월~금",
    weekend: "주말",
    sevenDays: "7일 평균"
  },
  ranking: {
    title: (one) => (one ? "평균 지연이 긴 상대 공항(분)" : "평균 지연이 긴 출발 공항(분)"),
    note: (n) => `항공편이 ${n}편 이상인 공항`
  },
  airports: {
    title: (one) => (one ? "상대 공항별 현황" : "출발 공항별 현황"),
    more: (shown, all) => `전체 ${all}곳 중 항공편이 많은 ${shown}곳`,
    columns: {
      airport: "공항",
      flights: "항공편 수",
      meanDelay: "평균 지연(분)",
      lateShare: "15분 이상 지연",
      longestDelay: "최장 지연(분)"
    }
  },
  listing: {
    title: (m) => (m === undefined ? "전체 항공편" : `${m}분 이상 지연 도착한 항공편`),
    none: "해당하는 항공편이 없습니다.",
    columns: { departed: "출발 일시", from: "출발지", to: "도착지", distance: "거리(마일)", delay: "지연(분)" }
  },
  note: "지연은 도착 기준이며, 조기 도착은 음수로 계산했습니다. 시각은 출발 공항의 현지 시각입니다.",
  source: "출처: 미국 교통통계국(BTS) 항공사 정시 운항 통계, 무작위 표본."
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const textOf = (locale: Locale): ReportText => (locale === "ko" ? ko : en)

/**
 * The number of a page, in words.
 *
 * @since 0.1.0
 * @category formatting
 */
export const pageText = (locale: Locale, n: number, of: number): string =>
  locale === "ko" ? `${n} / ${of}쪽` : `Page ${n} of ${of}`

/**
 * A whole number with a comma between thousands.
 *
 * @since 0.1.0
 * @category formatting
 */
export const whole = (n: number): string =>
  (n < 0 ? "-" : "") + String(Math.abs(Math.round(n))).replace(/\B(?=(\d{3})+$)/g, ",")

/**
 * One decimal.
 *
 * @since 0.1.0
 * @category formatting
 */
export const tenth = (n: number): string => {
  const s = Math.abs(n).toFixed(1)
  return n < 0 && s !== "0.0" ? `-${s}` : s
}

/**
 * A part as per cent, one decimal.
 *
 * @since 0.1.0
 * @category formatting
 */
export const percent = (share: number): string => `${tenth(share * 100)}%`
