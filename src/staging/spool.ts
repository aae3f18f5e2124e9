/**
 * Puts scanned pages on disk as they come, one row a line, and cuts them into segments: what one load takes in. A
 * segment is bounded in rows and bytes, so a load's memory is bounded whatever the window holds.
 */
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { assert, SyncError } from '../errors.ts'
import { folderRefused } from '../folders.ts'
import type { Instant } from '../instant.ts'
import type { ObjectCatalog } from './catalog.ts'
import type { CollectionPage, ItemIds } from './childLines.ts'
import { release } from './release.ts'
import type { ScannedPage } from './scanPage.ts'
import { stagedMissing } from './stagedFiles.ts'

export interface SpoolLimits {
  readonly loadRowsMax: number
  readonly loadBytesMax: number
  /** The first load is no larger than this, each that follows up to twice as large as the one before. */
  readonly firstLoadBytesMax?: number
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

/** The items of one collection of a load's rows: a file beside that of the rows, one item a line. */
export interface StagedCollection {
  readonly field: string
  readonly file: string
  readonly rows: number
  readonly bytes: number
  readonly lineBytesMax: number
  readonly ids: ItemIds
}

/** One load's rows on disk, with all that is known about them. */
export interface Segment {
  readonly file: string
  /** Collections of which any row has an item. */
  readonly collections: readonly StagedCollection[]
  readonly rows: number
  /** Bytes of `file`. */
  readonly bytes: number
  readonly rowBytesMax: number
  readonly pages: readonly StagedPage[]
  readonly rejected: readonly StagedReject[]
  readonly catalog: ObjectCatalog
}

/** Every file of a segment: whoever takes, moves or removes one does so with all. */
export const filesOf = ({ file, collections }: Pick<Segment, 'file' | 'collections'>): readonly string[] => [
  file,
  ...collections.map((collection) => collection.file),
]

/** How far the open segment was written. */
export interface SpoolPoint {
  readonly segments: number
  readonly rows: number
  readonly bytes: number
  readonly pages: number
  readonly rejected: number
  readonly collections: readonly Pick<StagedCollection, 'field' | 'rows' | 'bytes'>[]
}

interface OpenCollection extends StagedCollection {
  readonly handle: FileHandle
  rows: number
  bytes: number
  lineBytesMax: number
  ids: ItemIds
}

interface OpenSegment extends Segment {
  readonly handle: FileHandle
  readonly collections: OpenCollection[]
  /** Bytes of all files. */
  bytesInAll: number
  rows: number
  bytes: number
  rowBytesMax: number
  readonly pages: StagedPage[]
  readonly rejected: StagedReject[]
}

/** What is written goes to the end of the file, also after some was taken back. */
const APPENDING = 'a'
const FIRST_LOAD_BYTES_MAX = 64 * 1024 * 1024

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

  /** How much was written so far, to take back what is written from here on. */
  async point(): Promise<SpoolPoint> {
    await this.#tail
    const open = this.#open
    const segments = open === undefined ? this.#segments + 1 : this.#segments
    if (open === undefined) return { segments, rows: 0, bytes: 0, pages: 0, rejected: 0, collections: [] }
    const { rows, bytes, pages, rejected } = open
    const collections = open.collections.map((each) => ({ field: each.field, rows: each.rows, bytes: each.bytes }))
    return { segments, rows, bytes, pages: pages.length, rejected: rejected.length, collections }
  }

  /** Takes back what was written since `point`, in whose segment it must still be. */
  takeBack(point: SpoolPoint): Promise<void> {
    return this.#inTurn(() => this.#shorten(point))
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
    if (this.#open !== undefined) await closeAll(this.#open)
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
    let bytes: number
    try {
      bytes = await append(segment.handle, page.lines(index))
      for (const collection of page.collections) await this.#writeItems(segment, collection, index)
    } catch (error) {
      throw stagingError(error, segment.file)
    }
    segment.pages.push({ index, observedAt, asked })
    segment.rows += page.stagedRows
    segment.bytes += bytes
    segment.bytesInAll += bytes
    segment.rowBytesMax = Math.max(segment.rowBytesMax, page.rowBytesMax)
    for (const { reason, text } of page.rejected) segment.rejected.push({ pageIndex: index, reason, text })
    if (this.#limits.cutsBetweenPages !== false) await this.#finishFullSegment()
  }

  async #writeItems(segment: OpenSegment, page: CollectionPage, index: number): Promise<void> {
    const known = segment.collections.find(({ field }) => field === page.field)
    const collection = known ?? (await startCollection(segment, page))
    const bytes = await append(collection.handle, page.lines(index))
    collection.rows += page.rows
    collection.bytes += bytes
    collection.lineBytesMax = Math.max(collection.lineBytesMax, page.lineBytesMax)
    if (collection.ids !== page.ids) collection.ids = 'unsure'
    segment.bytesInAll += bytes
  }

  async #shorten(point: SpoolPoint): Promise<void> {
    const segment = this.#open
    if (segment === undefined) return
    assert(point.segments === this.#segments, 'pages are only taken back from the segment that they were written to')
    await segment.handle.truncate(point.bytes)
    for (const collection of segment.collections) {
      const { rows, bytes } = point.collections.find(({ field }) => field === collection.field) ?? { rows: 0, bytes: 0 }
      await collection.handle.truncate(bytes)
      segment.bytesInAll -= collection.bytes - bytes
      collection.rows = rows
      collection.bytes = bytes
    }
    segment.bytesInAll -= segment.bytes - point.bytes
    segment.rows = point.rows
    segment.bytes = point.bytes
    segment.pages.length = point.pages
    segment.rejected.length = point.rejected
  }

  async #finishFullSegment(): Promise<void> {
    const { loadRowsMax, loadBytesMax, firstLoadBytesMax = FIRST_LOAD_BYTES_MAX } = this.#limits
    if (this.#open === undefined) return
    // Loads grow: the first one begins soon, beside the walk; a large one writes whole row groups, each of them once.
    const bytesMax = Math.min(loadBytesMax, firstLoadBytesMax * 2 ** (this.#segments - 1))
    if (this.#open.rows >= loadRowsMax || this.#open.bytesInAll >= bytesMax) await this.#finishSegment()
  }

  async #startSegment(): Promise<OpenSegment> {
    const file = join(this.#directory, `segment-${this.#segments}.ndjson`)
    this.#segments += 1
    try {
      await mkdir(this.#directory, { recursive: true })
      const handle = await open(file, APPENDING)
      const nothing = { rows: 0, bytes: 0, bytesInAll: 0, rowBytesMax: 0, collections: [], pages: [], rejected: [] }
      this.#open = { file, handle, catalog: this.#catalog, ...nothing }
      return this.#open
    } catch (error) {
      throw stagingError(error, file)
    }
  }

  async #finishSegment(): Promise<void> {
    if (this.#open === undefined) return
    const { handle: _, bytesInAll: _bytes, ...segment } = this.#open
    const open = this.#open
    this.#open = undefined
    await closeAll(open)
    const collections = open.collections.flatMap(({ handle: _handle, ...collection }) =>
      collection.rows === 0 ? [] : [collection],
    )
    // The walk goes on while the segment is loaded; all statements of the load have to read it in the same way.
    this.#full.push({ ...segment, collections, catalog: this.#catalog.snapshot() })
  }
}

/** Writes the lines and gives their memory back; how many bytes they were. */
async function append(handle: FileHandle, lines: Buffer): Promise<number> {
  const { length } = lines
  await handle.appendFile(lines)
  release(lines)
  return length
}

async function startCollection(segment: OpenSegment, { field, ids }: CollectionPage): Promise<OpenCollection> {
  const file = `${segment.file}.${segment.collections.length}`
  const handle = await open(file, APPENDING)
  const collection = { field, file, handle, rows: 0, bytes: 0, lineBytesMax: 0, ids }
  segment.collections.push(collection)
  return collection
}

async function closeAll({ handle, collections }: OpenSegment): Promise<void> {
  await handle.close()
  for (const collection of collections) await collection.handle.close()
}

function stagingError(error: unknown, file: string): unknown {
  const code = (error as { code?: unknown }).code
  if (code === 'ENOENT') return stagedMissing(`${file} could not be written: its folder is gone`, error)
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return folderRefused(dirname(file), error)
  return new SyncError('DISK_FULL', `no space is left for staged rows in ${file}`, {
    cure: 'Free some space and run it again: nothing of the unfinished load was kept, nothing committed was lost.',
    data: { path: file },
    cause: error,
  })
}
