/** What happened last, kept for seeds that fail. */
import type { Timeline } from './timeline.ts'

const KEPT = 400

export class History {
  readonly #timeline: Timeline
  readonly #lines: { readonly atMs: number; readonly text: string }[] = []
  #dropped = 0

  constructor(timeline: Timeline) {
    this.#timeline = timeline
  }

  tell(text: () => string): void {
    this.#lines.push({ atMs: this.#timeline.nowMs, text: text() })
    if (this.#lines.length < 2 * KEPT) return
    this.#dropped += KEPT
    this.#lines.splice(0, KEPT)
  }

  lines(last: number): string[] {
    const told = this.#lines
      .slice(-last)
      .map(({ atMs, text }) => `${(atMs / 1_000).toFixed(3).padStart(10)} s  ${text}`)
    const left = this.#dropped + this.#lines.length - told.length
    return left === 0 ? told : [`… ${left} lines before`, ...told]
  }
}
