/** Numbers as they are shown. */

const grouped = (text: string) => text.replace(/\B(?=(\d{3})+(?!\d))/g, ",")

/** `12,345`; a few decimals where the number is small. */
export const count = (n: number): string => {
  if (!Number.isFinite(n)) return String(n)
  const [whole, decimals] = (
    Math.abs(n) >= 100 || Number.isInteger(n) ? n.toFixed(0) : String(Number(n.toPrecision(3)))
  ).split(".")
  return grouped(whole!) + (decimals === undefined ? "" : `.${decimals}`)
}

/** `3.1%`; `<0.1%` is not none. */
export const percent = (share: number): string => {
  if (share === 0) return "0%"
  if (share < 0.001) return "<0.1%"
  if (share > 0.999 && share < 1) return ">99.9%"
  return `${Number((share * 100).toFixed(1))}%`
}

/** `$1.20` */
export const usd = (amount: number): string =>
  amount > 0 && amount < 0.01 ? "<$0.01" : `$${grouped(amount.toFixed(2))}`

/** `$0.12–1.20`; one amount where both are the same. */
export const usdRange = (from: number, to: number): string =>
  usd(from) === usd(to) ? usd(from) : `${usd(from)}–${usd(to).replace("$", "")}`
