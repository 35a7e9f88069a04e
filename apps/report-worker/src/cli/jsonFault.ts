/** Where a text stops being JSON: Node's own messages often do not tell the place. */

const blank = /[ \t\n\r]*/y
const word = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const string = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

/** The offset of the first character that cannot be there; the length of the text where it ends too early, or is JSON. */
const faultAt = (text: string): number => {
  let at = 0
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found !== null) at = pattern.lastIndex
    return found !== null
  }
  const skip = () => void take(blank)
  const open: Array<"{" | "["> = []
  /** what may come next: a value, a field's name, or what follows a value */
  let next: "value" | "value or end" | "name" | "name or end" | "after" = "value"
  for (;;) {
    skip()
    const c = text[at]
    if (c === undefined) return at
    if (next === "after") {
      const inside = open.at(-1)
      if (inside === undefined) return at
      if (c === ",") next = inside === "{" ? "name" : "value"
      else if (c === (inside === "{" ? "}" : "]")) open.pop()
      else return at
      at++
    } else if ((next === "value or end" && c === "]") || (next === "name or end" && c === "}")) {
      open.pop()
      next = "after"
      at++
    } else if (next === "name" || next === "name or end") {
      if (!take(string)) return at
      skip()
      if (text[at] !== ":") return at
      at++
      next = "value"
    } else if (c === "{" || c === "[") {
      open.push(c)
      next = c === "{" ? "name or end" : "value or end"
      at++
    } else {
      if (!take(string) && !take(word)) return at
      next = "after"
    }
  }
}

/** The line of the fault, from 1 on, and what is there. */
export const jsonFault = (text: string): { readonly line: number; readonly what: string } => {
  const at = faultAt(text)
  const lineOf = (before: string) => before.split("\n").length
  if (at >= text.length) return { line: lineOf(text.trimEnd()), what: "it ends too early" }
  const rest = text.slice(at).split("\n", 1)[0]!.trim()
  return { line: lineOf(text.slice(0, at)), what: `at ${rest.length > 30 ? `${rest.slice(0, 30)}…` : rest}` }
}
