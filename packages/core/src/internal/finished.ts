/** How many finished messages are remembered: those that were not deleted, so normally none. */
const CAPACITY = 1_000

/**
 * Messages whose work is done and whose delete SQS did not confirm, or was not asked for since the lease was lost. When one
 * comes again it is deleted, not run: then nobody else has it. Small, bounded, and gone with the process: the durable
 * answer is a ledger.
 */
export class Finished {
  private readonly ids = new Set<string>()

  has(messageId: string): boolean {
    return this.ids.size > 0 && this.ids.has(messageId)
  }

  add(messageId: string): void {
    this.ids.delete(messageId)
    this.ids.add(messageId)
    if (this.ids.size > CAPACITY) this.ids.delete(this.ids.values().next().value!)
  }

  forget(messageId: string): void {
    if (this.ids.size > 0) this.ids.delete(messageId)
  }
}
