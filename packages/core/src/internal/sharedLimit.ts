/** One of those who share a limit. */
export interface Member {
  readonly weight: number
  /** starts what waits, as far as `take` lets it */
  readonly start: () => void
  /** places came free: there may be room for another receive */
  readonly freed: () => void
}

/**
 * A limit that several consumers share: each delivery takes its consumer's weight of it while its handler runs. Who does
 * not fit waits in line, and who comes later waits behind: a heavy one would never fit if light ones took each place that
 * comes free. Who has had its turn goes to the end of the line.
 */
export class SharedLimit {
  private used = 0
  private readonly members = new Set<Member>()
  private readonly line: Array<Member> = []
  private refused: Member | undefined
  private serving = false

  constructor(readonly size: number) {}

  get free(): number {
    return this.size - this.used
  }

  join(member: Member): void {
    this.members.add(member)
  }

  /** It wants no more; what it took it still gives back. */
  leave(member: Member): void {
    this.members.delete(member)
    const at = this.line.indexOf(member)
    if (at >= 0) this.line.splice(at, 1)
    this.serve()
  }

  take(member: Member): boolean {
    const first = this.line[0]
    // what weighs more than the whole limit may run alone
    const fits = this.used === 0 || this.used + member.weight <= this.size
    if (fits && (first === undefined || first === member)) {
      if (first === member) this.line.shift()
      this.used += member.weight
      return true
    }
    this.refused = member
    if (!this.line.includes(member)) this.line.push(member)
    return false
  }

  give(member: Member): void {
    this.used -= member.weight
    this.serve()
    for (const each of this.members) each.freed()
  }

  /** Who is first in line starts what fits; who wants nothing any more loses its turn. */
  serve(): void {
    if (this.serving) return
    this.serving = true
    for (let first = this.line[0]; first !== undefined; first = this.line[0]) {
      this.refused = undefined
      first.start()
      if (this.line[0] !== first) continue
      if (this.refused === first) break
      this.line.shift()
    }
    this.serving = false
  }
}
