/** The door that goes the way of every worker: through the AWS SDK. */
import * as SDK from "@aws-sdk/client-sqs"
import * as Effect from "effect/Effect"
import type { VirtualSqs } from "../../VirtualSqs.js"
import type { Json } from "../input.js"
import type { ManualClock } from "../manualClock.js"
import type { Door, RawReply, RawRequest, Reply } from "./kit.js"

interface SdkError {
  readonly name: string
  readonly message: string
  readonly $metadata?: { readonly httpStatusCode?: number }
}

type Command = new (input: Json) => Parameters<SDK.SQSClient["send"]>[0]

const commandOf = (operation: string): Command => {
  const command = (SDK as unknown as { readonly [name: string]: Command | undefined })[`${operation}Command`]
  if (command === undefined) throw new TypeError(`the SDK has no ${operation}Command`)
  return command
}

export const sdkCall =
  (client: SDK.SQSClient): Door["call"] =>
  (operation, input) =>
    Effect.promise((abortSignal) =>
      client.send(new (commandOf(operation))(input), { abortSignal }).then(
        (answer): Reply => {
          const { $metadata: _, ...output } = answer as { readonly $metadata?: unknown }
          return { _tag: "Answer", output }
        },
        (cause: SdkError): Reply => ({
          _tag: "Error",
          name: cause.name,
          message: cause.message,
          status: cause.$metadata?.httpStatusCode ?? 0
        })
      )
    )

export const rawCall =
  (endpoint: string) =>
  ({ body, headers }: RawRequest): Effect.Effect<RawReply> =>
    Effect.promise(async (signal) => {
      const response = await fetch(endpoint, { method: "POST", headers, body, signal })
      return {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text()
      }
    })

/** On a server whose time goes on by itself. */
export const realDoor = (client: SDK.SQSClient, endpoint: string): Door => ({
  call: sdkCall(client),
  now: Effect.clockWith((clock) => clock.currentTimeMillis),
  advance: (seconds) => Effect.sleep(seconds * 1000),
  pollsOpened: () => Effect.sleep("500 millis"),
  toleranceMs: 900,
  // without a signature: emulators do not ask for one
  raw: endpoint.startsWith("http://") ? rawCall(endpoint) : undefined
})

/** A server of our own: real sockets, and a clock that only moves when it is told to. */
export interface ServedDoor {
  readonly url: string
  readonly virtual: VirtualSqs["Type"]
  readonly clock: ManualClock
  readonly inFlightLimit: number
}

const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

export const ownDoor = (client: SDK.SQSClient, { clock, inFlightLimit, url, virtual }: ServedDoor): Door => ({
  call: sdkCall(client),
  now: clock.currentTimeMillis,
  advance: (seconds) => clock.advance(Math.round(seconds * 1000)),
  pollsOpened: (queueUrl, polls) =>
    turn.pipe(
      Effect.zipRight(Effect.orDie(virtual.openPolls(queueUrl))),
      Effect.repeat({ until: (open) => open >= polls }),
      Effect.asVoid
    ),
  toleranceMs: 0,
  inFlightLimit,
  raw: rawCall(url)
})
