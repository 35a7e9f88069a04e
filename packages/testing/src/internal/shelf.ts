/** Which message a receive takes next: the part in which standard and FIFO queues differ. No time in here. */
import { Heap } from "./heap.js"
import { type MessageGroup, type StoredMessage, Visible } from "./message.js"

/**
 * What a receive does with the message that is next: it was handed out (and is hidden, or visible at once with a
 * timeout of 0), or it was taken away to the dead letters.
 */
export type HandOut = (message: StoredMessage) => "handedOut" | "takenAway"

export interface Shelf {
  /** at least one message could be received */
  readonly available: boolean
  /** a new message, last in order */
  readonly add: (message: StoredMessage) => void
  /** the message has become visible */
  readonly shown: (message: StoredMessage) => void
  /** the message is no longer visible, other than by `take` */
  readonly hidden: (message: StoredMessage) => void
  readonly remove: (message: StoredMessage) => void
  /** hands out up to `max` visible messages in the queue's order */
  readonly take: (max: number, handOut: HandOut) => void
  /** what a receive would take first */
  readonly next: () => StoredMessage | undefined
  readonly clear: () => void
}

const bySerial = (a: StoredMessage, b: StoredMessage) => a.serial < b.serial

/** Oldest first, among those that are visible. */
export const standardShelf = (): Shelf => {
  const ready = new Heap<"readyPlace", StoredMessage>("readyPlace", bySerial)
  const show = (message: StoredMessage) => {
    if (message.state === Visible) ready.push(message)
  }
  return {
    get available() {
      return ready.size > 0
    },
    add: show,
    shown: show,
    hidden: (message) => ready.remove(message),
    remove: (message) => ready.remove(message),
    take: (max, handOut) => {
      /** handed out with a timeout of 0: visible again, but not in this answer */
      const again: Array<StoredMessage> = []
      for (let taken = 0; taken < max;) {
        const message = ready.pop()
        if (message === undefined) break
        if (handOut(message) === "takenAway") continue
        taken++
        if (message.state === Visible) again.push(message)
      }
      again.forEach(show)
    },
    next: () => ready.peek(),
    clear: () => ready.clear()
  }
}

/**
 * A group can be received from when its first message is visible; a receive takes as many of it as are visible in a row,
 * and then goes on with the next group. `order` gives groups their turn: who became available first, or by draw.
 */
export const fifoShelf = (order: () => number): Shelf => {
  const groups = new Map<string, MessageGroup>()
  const ready = new Heap<"readyPlace", MessageGroup>("readyPlace", (a, b) => a.readySince < b.readySince)

  const refresh = (group: MessageGroup) => {
    const available = group.first !== undefined && group.first.state === Visible
    if (available === ready.has(group)) return
    if (available) {
      group.readySince = order()
      ready.push(group)
    } else {
      ready.remove(group)
    }
  }
  const groupOf = (id: string): MessageGroup => {
    let group = groups.get(id)
    if (group === undefined) {
      group = { id, first: undefined, last: undefined, readySince: 0, readyPlace: -1 }
      groups.set(id, group)
    }
    return group
  }
  const ifFirst = (message: StoredMessage) => {
    if (message.group !== undefined && message.group.first === message) refresh(message.group)
  }

  return {
    get available() {
      return ready.size > 0
    },
    add: (message) => {
      const group = groupOf(message.content.groupId ?? "")
      message.group = group
      message.previous = group.last
      if (group.last === undefined) group.first = message
      else group.last.next = message
      group.last = message
      ifFirst(message)
    },
    shown: ifFirst,
    hidden: ifFirst,
    remove: (message) => {
      const { group, next, previous } = message
      if (group === undefined) return
      if (previous === undefined) group.first = next
      else previous.next = next
      if (next === undefined) group.last = previous
      else next.previous = previous
      message.group = message.previous = message.next = undefined
      if (group.first === undefined) groups.delete(group.id)
      refresh(group)
    },
    take: (max, handOut) => {
      const visited: Array<MessageGroup> = []
      for (let taken = 0; taken < max;) {
        const group = ready.pop()
        if (group === undefined) break
        visited.push(group)
        let message = group.first
        while (message !== undefined && message.state === Visible && taken < max) {
          const next: StoredMessage | undefined = message.next
          if (handOut(message) === "handedOut") taken++
          message = next
        }
        // taking the first one away may have put it back: it had its turn in this answer
        ready.remove(group)
      }
      visited.forEach(refresh)
    },
    next: () => ready.peek()?.first,
    clear: () => {
      groups.clear()
      ready.clear()
    }
  }
}
