/** Paths into JSON: `$.a.b[0]["c d"]`, members and indexes, nothing else of JSONPath. */

export type Path = ReadonlyArray<string | number>

const step = /\.([A-Za-z_$][\w$-]*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\['((?:[^'\\]|\\.)*)'\]/y

/** The path that a text begins with, and what is left of the text; `undefined` when it begins with none. */
export const parse = (text: string): { readonly path: Path; readonly rest: string } | undefined => {
  if (!text.startsWith("$")) return undefined
  const path: Array<string | number> = []
  let at = 1
  for (;;) {
    step.lastIndex = at
    const found = step.exec(text)
    if (found === null) break
    const [all, name, index, double, single] = found
    path.push(
      index !== undefined ? Number(index) : name !== undefined ? name : (double ?? single)!.replace(/\\(.)/g, "$1")
    )
    at += all.length
  }
  return { path, rest: text.slice(at) }
}

/** What is there; `undefined` when nothing is. */
export const read = (value: unknown, path: Path): unknown => {
  let found = value
  for (const name of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Record<string | number, unknown>)[name]
  }
  return found
}
