/** Batches: what makes SQS refuse a whole request, and the answers entry by entry. */
import type { FaultEntryError } from "../FaultPlan.js"
import { apiError, ApiError, apiErrorOfCode, missingParameter } from "./apiError.js"
import { asObject, type Json, optionalList, optionalString } from "./input.js"

export interface Entry {
  readonly id: string
  readonly input: Json
}

export interface BatchAnswer {
  readonly Successful?: ReadonlyArray<{ readonly Id: string }>
  readonly Failed?: ReadonlyArray<{
    readonly Id: string
    readonly Code: string
    readonly Message: string
    readonly SenderFault: boolean
  }>
}

/** Entries whose number and ids are in order. `shape` is the name of the entry's shape, for the texts. */
export const readEntries = (input: Json, shape: string): ReadonlyArray<Entry> => {
  const list = optionalList(input, "Entries") ?? []
  if (list.length === 0) {
    throw apiError("EmptyBatchRequest", `There should be at least one ${shape} in the request.`)
  }
  if (list.length > 10) {
    throw apiError(
      "TooManyEntriesInBatchRequest",
      `Maximum number of entries per request are 10. You have sent ${list.length}.`
    )
  }
  const entries = list.map((value, index) => {
    const entry = asObject(value)
    const id = optionalString(entry, "Id")
    if (id === undefined) throw missingParameter(`${shape}.${index + 1}.Id`)
    return { id, input: entry }
  })
  for (const { id } of entries) {
    if (!/^[A-Za-z0-9_-]{1,80}$/.test(id)) {
      throw apiError(
        "InvalidBatchEntryId",
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 " +
          "letters long."
      )
    }
  }
  const seen = new Set<string>()
  for (const { id } of entries) {
    if (seen.has(id)) throw apiError("BatchEntryIdsNotDistinct", `Id ${id} repeated.`)
    seen.add(id)
  }
  return entries
}

/** Each entry by itself; what one throws is that entry's answer. A list without members is absent. */
export const answerEntries = <A extends object>(
  entries: ReadonlyArray<Entry>,
  faults: ReadonlyMap<number, FaultEntryError> | undefined,
  run: (entry: Entry, index: number) => A
): BatchAnswer => {
  const successful: Array<{ readonly Id: string }> = []
  const failed: Array<{ Id: string; Code: string; Message: string; SenderFault: boolean }> = []
  entries.forEach((entry, index) => {
    try {
      const fault = faults?.get(index)
      if (fault !== undefined) {
        failed.push({
          Id: entry.id,
          Code: apiErrorOfCode(fault.code, fault.detail).code,
          Message: fault.detail,
          SenderFault: fault.senderFault
        })
        return
      }
      successful.push({ Id: entry.id, ...run(entry, index) })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      failed.push({ Id: entry.id, Code: error.code, Message: error.message, SenderFault: error.senderFault })
    }
  })
  return {
    ...(successful.length === 0 ? {} : { Successful: successful }),
    ...(failed.length === 0 ? {} : { Failed: failed })
  }
}
