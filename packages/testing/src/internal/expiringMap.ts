/** A map whose entries are gone a fixed time after they were put in; looking up costs O(1), amortised. */
export class ExpiringMap<A> {
  private readonly entries = new Map<string, { readonly key: string; readonly at: number; readonly value: A }>()
  /** the keys in the order in which they were put in, from `head` on */
  private order: Array<{ readonly key: string; readonly at: number; readonly value: A }> = []
  private head = 0

  constructor(private readonly lifetimeMs: number) {}

  get(key: string, now: number): A | undefined {
    this.expire(now)
    return this.entries.get(key)?.value
  }

  set(key: string, value: A, now: number): void {
    const entry = { key, at: now, value }
    this.entries.set(key, entry)
    this.order.push(entry)
  }

  clear(): void {
    this.entries.clear()
    this.order = []
    this.head = 0
  }

  private expire(now: number): void {
    let oldest = this.order[this.head]
    while (oldest !== undefined && oldest.at + this.lifetimeMs <= now) {
      if (this.entries.get(oldest.key) === oldest) this.entries.delete(oldest.key)
      oldest = this.order[++this.head]
    }
    if (this.head > 1000 && this.head * 2 > this.order.length) {
      this.order = this.order.slice(this.head)
      this.head = 0
    }
  }
}
