/** What an error says, inside all its wrappings: drivers and libraries wrap errors in errors. */
import { hasProperty } from "effect/Predicate"

const maxDepth = 8

export const textOf = (error: unknown): string => {
  let text = ""
  let e = error
  for (let depth = 0; depth < maxDepth && e !== undefined && e !== null; depth++) {
    const code = hasProperty(e, "code") && typeof e.code === "string" ? e.code : ""
    if (hasProperty(e, "message") && typeof e.message === "string" && e.message !== "") text = e.message
    // Node's error of several addresses that could not be reached has no message
    else if (code !== "") text = code
    e = hasProperty(e, "cause") ? e.cause : undefined
  }
  return (text === "" ? String(error) : text).split("\n", 1)[0]!
}
