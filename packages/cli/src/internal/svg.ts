/** Parts of the pictures: colours for light and dark, text, axes. */

const palettes = {
  light: {
    ground: "#ffffff",
    ink: "#1b1f24",
    muted: "#57606a",
    grid: "#d8dee4",
    area: "#bcdcf7",
    lease: "#0860c4",
    good: "#1a7f37",
    bad: "#c0202c",
    warn: "#8a5a00",
    badarea: "#f7c9c9"
  },
  dark: {
    ground: "#12161c",
    ink: "#e6edf3",
    muted: "#9aa4af",
    grid: "#2f3740",
    area: "#1c4570",
    lease: "#6cb6ff",
    good: "#57c46b",
    bad: "#ff7b72",
    warn: "#e0ac3b",
    badarea: "#5c2326"
  }
}

/** One for each thing that is compared: told apart with colour-blind eyes, on light and on dark. */
const series = {
  light: ["#0860c4", "#b35900", "#1a7f37", "#8250df", "#c0202c", "#57606a"],
  dark: ["#6cb6ff", "#f0a04b", "#57c46b", "#c6a0ff", "#ff7b72", "#9aa4af"]
}

export const SERIES = series.light.length

const rules = (theme: "light" | "dark"): string =>
  [
    ...Object.entries(palettes[theme]).map(
      ([name, colour]) => `.${name}{fill:${colour}}.${name}-edge{stroke:${colour}}`
    ),
    ...series[theme].map((colour, i) => `.s${i}{fill:${colour}}`)
  ].join("")

const style =
  "text{font-family:ui-sans-serif,system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-size:12px}" +
  `${rules("light")}@media(prefers-color-scheme:dark){${rules("dark")}}`

export const escape = (text: string): string =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!)

/** One decimal is finer than a pixel. */
export const n = (x: number): string => String(Math.round(x * 10) / 10)

export const say = (
  x: number,
  y: number,
  text: string,
  className = "ink",
  more: { readonly anchor?: "middle" | "end"; readonly bold?: boolean; readonly size?: number } = {}
): string => {
  const anchor = more.anchor === undefined ? "" : ` text-anchor="${more.anchor}"`
  const weight = more.bold === true ? ` font-weight="600"` : ""
  const size = more.size === undefined ? "" : ` style="font-size:${more.size}px"`
  return `<text x="${n(x)}" y="${n(y)}" class="${className}"${anchor}${weight}${size}>${escape(text)}</text>`
}

export const rect = (
  x: number,
  y: number,
  width: number,
  height: number,
  className: string,
  more: { readonly radius?: number; readonly title?: string } = {}
): string => {
  const radius = more.radius === undefined ? "" : ` rx="${more.radius}"`
  const title = more.title === undefined ? "" : `<title>${escape(more.title)}</title>`
  return `<rect x="${n(x)}" y="${n(y)}" width="${n(Math.max(0, width))}" height="${n(Math.max(0, height))}"${radius} class="${className}">${title}</rect>`
}

export const line = (x1: number, y1: number, x2: number, y2: number, className: string): string =>
  `<path d="M${n(x1)},${n(y1)}L${n(x2)},${n(y2)}" class="${className}" fill="none"/>`

/** The whole picture, on a ground of its own. */
export const picture = (title: string, width: number, height: number, parts: ReadonlyArray<string>): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${n(width)} ${n(height)}" width="${n(width)}" height="${n(height)}" role="img">`,
    `<title>${escape(title)}</title><style>${style}</style>`,
    rect(0, 0, width, height, "ground", { radius: 8 }),
    ...parts,
    "</svg>",
    ""
  ].join("\n")
