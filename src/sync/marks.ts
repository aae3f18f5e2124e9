/**
 * The marks of one scope while a run moves them: up to where what is proven reaches without a gap, less the time in which
 * rows may still be committed (src/plan/window.ts). They are written with the load that holds the last row before them.
 */
import { earliest, type Instant } from '../instant.ts'
import { merged, provenUpTo } from '../plan/intervals.ts'
import { marksOf } from '../plan/marks.ts'
import type { Span } from '../plan/spans.ts'
import { type Before, markAfter, reachesBack } from '../plan/window.ts'
import type { GoneKey } from './walk/difference.ts'
import type { Scope } from './walk/scope.ts'
import { type ProvenAs, WindowReader } from './walk/windowReader.ts'

/** Reads windows, closes them and says which marks they move. */
export class Marks {
  readonly #scope: Scope
  readonly #reader: WindowReader
  readonly #before: Before
  #proven: readonly Span[] = []
  #mark: Instant | undefined
  #movesMarks = true

  constructor(scope: Scope, before: Before) {
    this.#scope = scope
    this.#reader = new WindowReader(scope)
    this.#before = before
    this.#mark = before.mark
  }

  get pages(): number {
    return this.#reader.pages
  }

  /** From here on rows are read again that lie behind the mark: that moves no mark, nothing of it is late or modified. */
  forOldRows(): this {
    this.#movesMarks = false
    this.#scope.intake.source = { kind: 'reread' }
    return this
  }

  /** A proven slice moves the mark. */
  read(span: Span): Promise<void> {
    return this.#reader.read(span, (slice, proven, gone) => this.close(slice, proven, gone))
  }

  async close(span: Span, proven: ProvenAs, gone?: readonly GoneKey[]): Promise<void> {
    const { declaration, config, window } = this.#scope.parts
    const clock = this.#reader.knownUntil
    const until = earliest(span.until, clock)
    this.#proven = merged([...this.#proven, { since: span.since, until }])
    // Windows may be proven in any order; only what is proven without a gap counts.
    const reached = provenUpTo(this.#mark ?? window.since, this.#proven) ?? until
    const value = markAfter(this.#mark, { since: window.since, until: reached, clock }, config.settleMs)
    this.#mark = value
    const isMoved = this.#movesMarks && this.#reachesBack(clock)
    const marks = isMoved ? marksOf(declaration).map((mark) => ({ mark, value })) : []
    await this.#reader.close(span, proven, { gone, marks })
  }

  /**
   * Where the first answer says that the clock on which the window was cut had been set back, the window may begin too
   * late. Then it leaves the mark as it was, and with it where the next one begins.
   */
  #reachesBack(clock: Instant): boolean {
    const { declaration, config, window } = this.#scope.parts
    const rules = { ...config, sinceRequired: declaration.window.required }
    return clock === window.clock || reachesBack(window, this.#before, { clock, rules })
  }
}
