/**
 * Who waits for a permit, in two lines: what keeps the marks fresh goes first, what fills in old times behind it. The
 * line behind gets a turn now and then however long the first one is, so that nothing waits for ever. Pure.
 */
export type Priority = 'first' | 'behind'

/** After so many in a row, one from behind goes: a backfill keeps an eighth of the way even beside busy reports. */
const FIRST_IN_A_ROW_MAX = 7

export class WaitingLine<T> {
  readonly #lines: Record<Priority, T[]> = { first: [], behind: [] }
  #firstInARow = 0

  get length(): number {
    return this.#lines.first.length + this.#lines.behind.length
  }

  join(waiter: T, priority: Priority): void {
    this.#lines[priority].push(waiter)
  }

  /** Whose turn it is; undefined where nobody waits. */
  next(): T | undefined {
    const { first, behind } = this.#lines
    const isTurnOfBehind = first.length === 0 || (behind.length > 0 && this.#firstInARow >= FIRST_IN_A_ROW_MAX)
    this.#firstInARow = isTurnOfBehind || behind.length === 0 ? 0 : this.#firstInARow + 1
    return isTurnOfBehind ? behind.shift() : first.shift()
  }

  /** Whether it was there to leave. */
  leave(waiter: T): boolean {
    return Object.values(this.#lines).some((line) => {
      const place = line.indexOf(waiter)
      if (place >= 0) line.splice(place, 1)
      return place >= 0
    })
  }
}
