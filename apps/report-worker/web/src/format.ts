/** Numbers and times as people read them. */
import { language } from "./state.js"

const units = {
  en: { d: " d", h: " h", m: " min", s: " s", ms: " ms" },
  ko: { d: "일", h: "시간", m: "분", s: "초", ms: "밀리초" }
}

/** Two units at most: `1 h 5 min`, `42 s`. */
export const duration = (ms: number): string => {
  const u = units[language.value]
  const abs = Math.max(0, ms)
  if (abs < 1000) return abs < 1 ? `0${u.s}` : `${Math.round(abs)}${u.ms}`
  if (abs < 10_000) return `${Math.round(abs / 100) / 10}${u.s}`
  const s = Math.round(abs / 1000)
  const [d, h, m] = [Math.floor(s / 86_400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60]
  const two = (a: string, b: string, isZero: boolean) => (isZero ? a : `${a} ${b}`)
  if (d > 0) return two(`${d}${u.d}`, `${h}${u.h}`, h === 0)
  if (h > 0) return two(`${h}${u.h}`, `${m}${u.m}`, m === 0)
  if (m > 0) return two(`${m}${u.m}`, `${s % 60}${u.s}`, s % 60 === 0)
  return `${s}${u.s}`
}

/** whole seconds: it does not flicker while it counts down */
export const seconds = (ms: number): string => duration(Math.max(1000, Math.ceil(ms / 1000) * 1000))

const formats = new Map<string, Intl.DateTimeFormat>()

export const time = (ms: number): string => {
  const isToday = new Date(ms).toDateString() === new Date().toDateString()
  const key = `${language.value}${isToday}`
  let format = formats.get(key)
  if (format === undefined) {
    format = new Intl.DateTimeFormat(language.value, {
      ...(isToday ? {} : { month: "short", day: "numeric" }),
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      hourCycle: "h23"
    })
    formats.set(key, format)
  }
  return format.format(ms)
}

/** with its day, and a clock of 24 hours */
export const full = (ms: number): string =>
  new Date(ms).toLocaleString(language.value === "en" ? "en-GB" : "ko", {
    year: "numeric",
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23"
  })

export const bytes = (n: number): string =>
  n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`

export const integer = (n: number): string => n.toLocaleString(language.value)
