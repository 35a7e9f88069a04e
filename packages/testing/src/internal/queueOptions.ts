/** Queues as tests and the command line ask for them, made into the input of CreateQueue. */
import type { Json } from "./input.js"

/** A queue to create. */
export interface QueueOptions {
  /** a name that ends in `.fifo` makes a FIFO queue */
  readonly name: string
  /** by the names of the API, as `{ VisibilityTimeout: 60 }` */
  readonly attributes?: { readonly [name: string]: string | number | boolean } | undefined
  /** where its dead letters go, after how many receives; the queue must exist */
  readonly deadLetters?: { readonly queue: string; readonly maxReceiveCount: number } | undefined
  readonly tags?: { readonly [name: string]: string } | undefined
}

export const queueInput = (queue: string | QueueOptions, arnOf: (name: string) => string): Json => {
  const options: QueueOptions = typeof queue === "string" ? { name: queue } : queue
  const { attributes = {}, deadLetters, name, tags = {} } = options
  const texts = Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, String(value)]))
  return {
    QueueName: name,
    Attributes: {
      ...(name.endsWith(".fifo") ? { FifoQueue: "true" } : {}),
      ...(deadLetters === undefined
        ? {}
        : {
            RedrivePolicy: JSON.stringify({
              deadLetterTargetArn: arnOf(deadLetters.queue),
              maxReceiveCount: deadLetters.maxReceiveCount
            })
          }),
      ...texts
    },
    tags
  }
}
