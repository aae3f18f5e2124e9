/**
 * Puts scanned pages on disk as they come, one row a line, and cuts them into segments: what one load takes in. A
 * segment is bounded in rows and bytes, so a load's memory is bounded whatever the window holds.
 */
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SyncError } from '../errors.ts'
import type { Instant } from '../instant.ts'
import type { ObjectCatalog } from './catalog.ts'
import type { ScannedPage } from './scanPage.ts'

export interface SpoolLimits {
  readonly loadRowsMax: number
  readonly loadBytesMax: number
  /** False: a segment only ends where `cutWhenFull` is called, since its rows belong together up to there. */
  readonly cutsBetweenPages?: boolean
}

/** What is the same for all rows of a page: when the service answered, and what the question was. */
export interface StagedPage {
  readonly index: number
  readonly observedAt: Instant
  /** Column → value for the columns that the question gives. */
  readonly asked: Readonly<Record<string, string | number>>
}

export interface StagedReject {
  readonly pageIndex: number
  readonly reason: string
  readonly text: string
}

/** One load's rows on disk, with all that is known about them. */
export interface Segment {
  readonly file: string
  readonly rows: number
  readonly bytes: number
  readonly rowBytesMax: number
  readonly pages: readonly StagedPage[]
  readonly rejected: readonly StagedReject[]
  readonly catalog: ObjectCatalog
}

interface OpenSegment extends Segment {
  readonly handle: FileHandle
  rows: number
  bytes: number
  rowBytesMax: number
  readonly pages: StagedPage[]
  readonly rejected: StagedReject[]
}

export class Spool implements AsyncDisposable {
  readonly #directory: string
  readonly #catalog: ObjectCatalog
  readonly #limits: SpoolLimits
  #open: OpenSegment | undefined
  #full: Segment[] = []
  #segments = 0
  #pages = 0
  #tail: Promise<unknown> = Promise.resolve()

  /** `directory` is the spool's own and is removed with it. */
  constructor(directory: string, catalog: ObjectCatalog, limits: SpoolLimits) {
    this.#directory = directory
    this.#catalog = catalog
    this.#limits = limits
  }

  /** Writes a page's rows behind those that came before. Error: DISK_FULL. */
  add(page: ScannedPage, observedAt: Instant, asked: StagedPage['asked'] = {}): Promise<void> {
    return this.#inTurn(() => this.#write(page, observedAt, asked))
  }

  /** Ends the segment if it holds as much as one load takes. Called where a cut tears nothing apart. */
  cutWhenFull(): Promise<void> {
    return this.#inTurn(() => this.#finishFullSegment())
  }

  /** Segments that are full and not taken yet; whoever takes one removes its file. */
  takeFull(): Segment[] {
    const full = this.#full
    this.#full = []
    return full
  }

  /** Everything not taken yet. */
  async takeRest(): Promise<Segment[]> {
    await this.#inTurn(() => this.#finishSegment())
    return this.takeFull()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tail
    await this.#open?.handle.close()
    this.#open = undefined
    await rm(this.#directory, { recursive: true, force: true })
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#tail.then(work)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  async #write(page: ScannedPage, observedAt: Instant, asked: StagedPage['asked']): Promise<void> {
    const segment = this.#open ?? (await this.#startSegment())
    const index = this.#pages
    this.#pages += 1
    const lines = page.lines(index)
    try {
      await segment.handle.appendFile(lines)
    } catch (error) {
      throw stagingError(error, segment.file)
    }
    segment.pages.push({ index, observedAt, asked })
    segment.rows += page.stagedRows
    segment.bytes += lines.length
    segment.rowBytesMax = Math.max(segment.rowBytesMax, page.rowBytesMax)
    for (const { reason, text } of page.rejected) segment.rejected.push({ pageIndex: index, reason, text })
    if (this.#limits.cutsBetweenPages !== false) await this.#finishFullSegment()
  }

  async #finishFullSegment(): Promise<void> {
    const { loadRowsMax, loadBytesMax } = this.#limits
    if (this.#open === undefined) return
    if (this.#open.rows >= loadRowsMax || this.#open.bytes >= loadBytesMax) await this.#finishSegment()
  }

  async #startSegment(): Promise<OpenSegment> {
    const file = join(this.#directory, `segment-${this.#segments}.ndjson`)
    this.#segments += 1
    try {
      await mkdir(this.#directory, { recursive: true })
      const handle = await open(file, 'w')
      this.#open = { file, handle, rows: 0, bytes: 0, rowBytesMax: 0, pages: [], rejected: [], catalog: this.#catalog }
      return this.#open
    } catch (error) {
      throw stagingError(error, file)
    }
  }

  async #finishSegment(): Promise<void> {
    if (this.#open === undefined) return
    const { handle, ...segment } = this.#open
    this.#open = undefined
    await handle.close()
    this.#full.push(segment)
  }
}

function stagingError(error: unknown, file: string): unknown {
  const code = (error as { code?: unknown }).code
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error
  return new SyncError('DISK_FULL', `no space is left for staged rows in ${file}`, {
    cure: 'Free some space and run it again: nothing of the unfinished load was kept, nothing committed was lost.',
    data: { path: file },
    cause: error,
  })
}
