/**
 * Reading the JSON of a request: a member is absent (or null), of its type, or the request is refused as AWS refuses
 * what does not fit its model.
 */
import { apiError, type ApiError, missingParameter } from "./apiError.js"

/** A JSON object. */
export type Json = { readonly [key: string]: unknown }

const tokens: { readonly [type: string]: string } = {
  string: "STRING_VALUE",
  number: "NUMBER_VALUE",
  boolean: "BOOLEAN_VALUE",
  object: "START_OBJECT"
}
const token = (value: unknown): string =>
  Array.isArray(value) ? "START_ARRAY" : value === null ? "NULL_VALUE" : (tokens[typeof value] ?? "UNKNOWN_VALUE")

export const malformed = (message: string): ApiError => apiError("SerializationException", message)

const mismatch = (value: unknown, type: string) => malformed(`${token(value)} can not be converted to ${type}`)

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const asObject = (value: unknown): Json => {
  if (!isObject(value)) throw mismatch(value, "a Structure")
  return value
}

const own = (input: Json, key: string): unknown => {
  const value = Object.hasOwn(input, key) ? input[key] : undefined
  return value === null ? undefined : value
}

export const optionalString = (input: Json, key: string): string | undefined => {
  const value = own(input, key)
  if (value === undefined || typeof value === "string") return value
  throw mismatch(value, "a String")
}

/** Binary values travel as base64, here left as they came. */
export const optionalBase64 = (input: Json, key: string): string | undefined => {
  const value = optionalString(input, key)
  if (value === undefined || (value.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(value))) return value
  throw malformed(`The value of ${key} is not base64.`)
}

/** Absent and empty are the same to SQS where it needs a value. */
export const requiredString = (input: Json, key: string): string => {
  const value = optionalString(input, key)
  if (value === undefined || value === "") throw missingParameter(key)
  return value
}

export const optionalInteger = (input: Json, key: string): number | undefined => {
  const value = own(input, key)
  if (value === undefined) return undefined
  if (typeof value === "number" && Number.isSafeInteger(value)) return value
  throw mismatch(value, "an Integer")
}

export const requiredInteger = (input: Json, key: string): number => {
  const value = optionalInteger(input, key)
  if (value === undefined) throw missingParameter(key)
  return value
}

export const optionalList = (input: Json, key: string): ReadonlyArray<unknown> | undefined => {
  const value = own(input, key)
  if (value === undefined || Array.isArray(value)) return value
  throw mismatch(value, "a List")
}

export const optionalStrings = (input: Json, key: string): ReadonlyArray<string> | undefined =>
  optionalList(input, key)?.map((value) => {
    if (typeof value !== "string") throw mismatch(value, "a String")
    return value
  })

export const optionalObject = (input: Json, key: string): Json | undefined => {
  const value = own(input, key)
  return value === undefined ? undefined : asObject(value)
}

/** A map of strings; entries that are null are left out. */
export const optionalStringMap = (input: Json, key: string): ReadonlyMap<string, string> | undefined => {
  const map = optionalObject(input, key)
  if (map === undefined) return undefined
  const out = new Map<string, string>()
  for (const [name, value] of Object.entries(map)) {
    if (value === null || value === undefined) continue
    if (typeof value !== "string") throw mismatch(value, "a String")
    out.set(name, value)
  }
  return out
}
