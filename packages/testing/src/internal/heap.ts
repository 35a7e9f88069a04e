/**
 * A binary heap whose items know their place in it, so that any of them can be removed or moved in O(log n). An item is
 * in at most one heap per `place` key, where -1 stands for none.
 */
export class Heap<K extends string, A extends { [P in K]: number }> {
  private readonly items: Array<A> = []

  constructor(
    private readonly place: K,
    private readonly before: (a: A, b: A) => boolean
  ) {}

  get size(): number {
    return this.items.length
  }

  peek(): A | undefined {
    return this.items[0]
  }

  has(item: A): boolean {
    return this.items[item[this.place]] === item
  }

  push(item: A): void {
    this.items.push(item)
    this.up(this.items.length - 1, item)
  }

  pop(): A | undefined {
    const top = this.items[0]
    if (top !== undefined) this.remove(top)
    return top
  }

  remove(item: A): void {
    const items = this.items
    const at: number = item[this.place]
    if (items[at] !== item) return
    this.setPlace(item, -1)
    const last = items.pop()!
    if (last === item) return
    if (at > 0 && this.before(last, items[(at - 1) >> 1]!)) this.up(at, last)
    else this.down(at, last)
  }

  /** All items, in no order. */
  values(): ReadonlyArray<A> {
    return this.items
  }

  clear(): void {
    for (const item of this.items) this.setPlace(item, -1)
    this.items.length = 0
  }

  private setPlace(item: A, at: number): void {
    ;(item as { [P in K]: number })[this.place] = at
  }

  private up(from: number, item: A): void {
    const items = this.items
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      const other = items[parent]!
      if (!this.before(item, other)) break
      items[at] = other
      this.setPlace(other, at)
      at = parent
    }
    items[at] = item
    this.setPlace(item, at)
  }

  private down(from: number, item: A): void {
    const items = this.items
    const half = items.length >> 1
    let at = from
    while (at < half) {
      let child = 2 * at + 1
      const right = child + 1
      if (right < items.length && this.before(items[right]!, items[child]!)) child = right
      const other = items[child]!
      if (!this.before(other, item)) break
      items[at] = other
      this.setPlace(other, at)
      at = child
    }
    items[at] = item
    this.setPlace(item, at)
  }
}
