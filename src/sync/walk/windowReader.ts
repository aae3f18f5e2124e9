/**
 * Reads the windows of one scope and closes them: each on the axes of time that its rows may stand on, proven slice by
 * slice, with the keys that only a second read shows to be deleted.
 */
import { earliest, type Instant } from '../../instant.ts'
import type { Span } from '../../plan/spans.ts'
import type { ClosedWindow } from '../../warehouse/books/books.ts'
import { Difference, type GoneKey } from './difference.ts'
import type { Proven } from './pageWalk.ts'
import type { Axis, Scope } from './scope.ts'

/** What the books say of how a window was proven. */
export type ProvenAs = Pick<ClosedWindow, 'proof' | 'rows' | 'totalCount'>

/** Told of each slice; `gone`: keys that its second read showed to be deleted, where the report needs one. */
export type OnSlice = (slice: Span, proven: Proven, gone: readonly GoneKey[] | undefined) => Promise<void>

export interface Closing {
  readonly gone?: readonly GoneKey[] | undefined
  /** The marks that it moves. */
  readonly marks?: ClosedWindow['marks']
}

export class WindowReader {
  readonly #scope: Scope
  /** For reports whose deletions only a second read shows. */
  readonly #difference: Difference | undefined
  #pagesTaken = 0

  constructor(scope: Scope) {
    this.#scope = scope
    this.#difference = scope.parts.declaration.deletes === 'diff' ? new Difference(scope) : undefined
  }

  /** Pages read so far, those of second reads included. */
  get pages(): number {
    return this.#scope.reader.pages + (this.#difference?.pages ?? 0)
  }

  /** Those since it was asked last: what it took to read the window that is closed now. */
  takePages(): number {
    const taken = this.pages - this.#pagesTaken
    this.#pagesTaken = this.pages
    return taken
  }

  /** Nothing later than the service's first answer can be known, whatever the window asked for. */
  get knownUntil(): Instant {
    const { clock } = this.#scope.parts.window
    return earliest(clock, this.#scope.reader.firstServedAt ?? clock)
  }

  /** By creation first, where rows may never have been modified, then by modification: only that closes a window. */
  async read(span: Span, onSlice: OnSlice): Promise<void> {
    const { declaration, config } = this.#scope.parts
    if (config.askCreated && declaration.created !== undefined) {
      await this.#scope.proveAll('created', [span], () => Promise.resolve())
    }
    await this.slices('window', [span], onSlice)
  }

  /** The same on one axis. */
  async slices(axis: Axis, spans: readonly Span[], onSlice: OnSlice): Promise<void> {
    await this.#scope.proveAll(axis, spans, async (slice, proven) => {
      await onSlice(slice, proven, await this.#difference?.goneKeys(slice, proven))
    })
  }

  /** The next load closes it, with the pages that were read since the one before. */
  async close(slice: Span, { proof, rows, totalCount }: ProvenAs, { gone, marks = [] }: Closing): Promise<void> {
    const { scope } = this.#scope.parts
    const until = earliest(slice.until, this.knownUntil)
    const window = { scope, since: slice.since, until, proof, pages: this.takePages(), rows, totalCount, marks }
    await this.#scope.intake.close({ window, gone })
  }
}
