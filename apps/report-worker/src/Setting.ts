/**
 * One key of the environment: its words, its default, and how its text is read.
 *
 * @since 0.1.0
 */
import { parseDuration } from "@effect-sqs/cli/Durations"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"

/**
 * Where finished reports are kept. `prefix` is empty or ends with a slash.
 *
 * @since 0.1.0
 * @category models
 */
export type StoreAddress =
  | { readonly _tag: "Folder"; readonly path: string }
  | { readonly _tag: "S3"; readonly bucket: string; readonly prefix: string }

/**
 * Where something listens; port 0 is any free one.
 *
 * @since 0.1.0
 * @category models
 */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** One key of the environment. */
export interface Setting<A> {
  readonly key: string
  readonly about: string
  readonly expected: string
  /** the default, as `--help` shows it */
  readonly otherwise: string
  readonly config: Config.Config<A>
}

export const setting = <A>(
  key: string,
  about: string,
  expected: string,
  otherwise: { readonly value: A; readonly shown: string },
  read: (text: string) => A | undefined,
  /** of a secret the value is not told */
  shown: (text: string) => string = JSON.stringify
): Setting<A> => ({
  key,
  about,
  expected,
  otherwise: otherwise.shown,
  config: Config.string(key).pipe(
    Config.mapOrFail((text) => {
      // Some tools cannot leave a variable out, only make it empty.
      if (text.trim() === "") return Either.left(ConfigError.MissingData([key], "empty"))
      const value = read(text.trim())
      return value === undefined
        ? Either.left(ConfigError.InvalidData([key], `${key} is ${shown(text)}: expected ${expected}`))
        : Either.right(value)
    }),
    Config.withDefault(otherwise.value)
  )
})

export const text =
  (accept: RegExp) =>
  (s: string): string | undefined =>
    accept.test(s) ? s : undefined

export const count = (max: number) => (s: string) => {
  const n = Number(s)
  return Number.isInteger(n) && n >= 1 && n <= max ? n : undefined
}

/** longer than nothing, and of a unit */
export const duration = (s: string): Duration.Duration | undefined => {
  const d = /[a-z]/i.test(s) ? parseDuration(s) : undefined
  return d !== undefined && Duration.greaterThan(d, Duration.zero) ? d : undefined
}

export const address = (s: string): StoreAddress | undefined => {
  const s3 = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*?))?\/*$/.exec(s)
  if (s3 !== null) return { _tag: "S3", bucket: s3[1]!, prefix: s3[2] === undefined || s3[2] === "" ? "" : `${s3[2]}/` }
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(s) ? undefined : { _tag: "Folder", path: s }
}

export const postgresUrl = (s: string): Redacted.Redacted | undefined => {
  if (!/^postgres(ql)?:\/\//.test(s) || !URL.canParse(s)) return undefined
  return Redacted.make(s)
}

/** a port alone is one of this machine only */
export const listen = (s: string): ListenAddress | undefined => {
  const parts = /^(?:(.+):)?(\d{1,5})$/.exec(s)
  const port = Number(parts?.[2])
  return parts === null || port > 65_535
    ? undefined
    : { host: (parts[1] ?? "127.0.0.1").replace(/^\[(.*)\]$/, "$1"), port }
}

export const hostNames = (s: string): ReadonlyArray<string> | undefined => {
  const names = s.split(",").map((name) => name.trim().toLowerCase())
  return names.every((name) => /^[a-z0-9][a-z0-9.-]*$/.test(name)) ? names : undefined
}

export const yesOrNo = (s: string): boolean | undefined => ({ yes: true, no: false })[s.toLowerCase()]
