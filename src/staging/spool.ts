/** Writes scanned rows to files. Each file (segment) becomes one load, so its size is limited. */
import { type FileHandle, mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SyncError } from '../errors.ts'
import { folderRefused, PRIVATE_FILE, PRIVATE_FOLDER } from '../folders.ts'
import type { Instant } from '../instant.ts'
import type { ObjectCatalog } from './catalog.ts'
import type { CollectionPage, ItemIds } from './childLines.ts'
import type { ScannedPage } from './scanPage.ts'

export interface SpoolLimits {
  readonly loadRowsMax: number
  readonly loadBytesMax: number
  /** The first load has at most this many bytes. The maximum doubles with each later load, up to `loadBytesMax`. */
  readonly firstLoadBytesMax?: number
  /** Returns false while several pages must be in one load. Meanwhile, `add` continues even a full segment. */
  readonly cutsBetweenPages?: () => boolean
}

export interface PageTimes {
  readonly observedAt: Instant
  /** The service's time when the page was requested. It can be slightly too early, but not too late. */
  readonly askedAt: Instant
}

export interface StagedPage extends PageTimes {
  readonly index: number
  /** Values of columns that come from the request. Example: `{ target_currency: 'EUR' }`. */
  readonly asked: Readonly<Record<string, string | number>>
}

export interface StagedReject {
  readonly pageIndex: number
  readonly reason: string
  readonly text: string
}

/** The items of one collection in one load, in a file of their own with one item per line. */
export interface StagedCollection {
  readonly field: string
  readonly file: string
  readonly rows: number
  readonly bytes: number
  readonly lineBytesMax: number
  readonly ids: ItemIds
}

export interface Segment {
  readonly file: string
  readonly collections: readonly StagedCollection[]
  readonly rows: number
  readonly bytes: number
  readonly rowBytesMax: number
  readonly pages: readonly StagedPage[]
  readonly rejected: readonly StagedReject[]
  readonly catalog: ObjectCatalog
}

/** Returns all files of a segment, because they must be moved and removed together. */
export const filesOf = ({ file, collections }: Pick<Segment, 'file' | 'collections'>): readonly string[] => [
  file,
  ...collections.map((collection) => collection.file),
]

/** A position in the open segment. `takeBack` removes the pages that were added after it. */
export interface SpoolPoint {
  readonly segments: number
  readonly rows: number
  readonly bytes: number
  readonly pages: number
  readonly rejected: number
  readonly collections: readonly Pick<StagedCollection, 'field' | 'rows' | 'bytes'>[]
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }
type OpenCollection = Writable<StagedCollection> & { readonly handle: FileHandle }

interface OpenSegment extends Writable<Segment> {
  readonly handle: FileHandle
  readonly collections: OpenCollection[]
  bytesInAll: number
  readonly pages: StagedPage[]
  readonly rejected: StagedReject[]
}

const NOTHING_WRITTEN = { rows: 0, bytes: 0, pages: 0, rejected: 0, collections: [] } as const

/** Each write appends to the end of the file, even after `takeBack` has shortened the file. */
const APPENDING = 'a'
/** If rows are longer than this, segments are smaller, because DuckDB has 2,048 rows in memory at once. */
const LONG_ROW_BYTES = 16 * 1024
const LONG_ROWS_LOAD_BYTES = 16 * 1024 * 1024
const FIRST_LOAD_BYTES_MAX = 64 * 1024 * 1024

export class Spool implements AsyncDisposable {
  readonly #directory: string
  readonly #catalog: ObjectCatalog
  readonly #limits: SpoolLimits
  #open: OpenSegment | undefined
  readonly #full: Segment[] = []
  #segments = 0
  #pages = 0
  #tail: Promise<unknown> = Promise.resolve()

  /** Creates `directory` when the first page is added. The disposal of the spool deletes `directory`. */
  constructor(directory: string, catalog: ObjectCatalog, limits: SpoolLimits) {
    this.#directory = directory
    this.#catalog = catalog
    this.#limits = limits
  }

  add(page: ScannedPage, times: PageTimes, asked: StagedPage['asked'] = {}): Promise<void> {
    return this.#inTurn(() => this.#write(page, times, asked))
  }

  async point(): Promise<SpoolPoint> {
    await this.#tail
    const open = this.#open
    const segments = open === undefined ? this.#segments + 1 : this.#segments
    if (open === undefined) return { segments, ...NOTHING_WRITTEN }
    const { rows, bytes, pages, rejected } = open
    const collections = open.collections.map((each) => ({ field: each.field, rows: each.rows, bytes: each.bytes }))
    return { segments, rows, bytes, pages: pages.length, rejected: rejected.length, collections }
  }

  /** Removes the rows that were added to the open segment after `point`. Completed segments are kept. */
  takeBack(point: SpoolPoint): Promise<void> {
    return this.#inTurn(() => this.#shorten(point))
  }

  /** Ends the segment if it is full. Call this when all pages are added whose rows must be in one load. */
  cutWhenFull(): Promise<void> {
    return this.#inTurn(() => this.#finishFullSegment())
  }

  /** Returns the full segments that no earlier call has returned. The caller must remove their files. */
  takeFull(): Segment[] {
    return this.#full.splice(0)
  }

  async takeRest(): Promise<Segment[]> {
    await this.#inTurn(() => this.#finishSegment())
    return this.takeFull()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tail
    const open = this.#open
    this.#open = undefined
    try {
      if (open !== undefined) await closeAll(open)
    } finally {
      await rm(this.#directory, { recursive: true, force: true })
    }
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#tail.then(work)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  async #write(page: ScannedPage, times: PageTimes, asked: StagedPage['asked']): Promise<void> {
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
    segment.pages.push({ index, ...times, asked })
    segment.rows += page.stagedRows
    segment.bytes += bytes
    segment.bytesInAll += bytes
    segment.rowBytesMax = Math.max(segment.rowBytesMax, page.rowBytesMax)
    for (const { reason, text } of page.rejected) segment.rejected.push({ pageIndex: index, reason, text })
    if (this.#limits.cutsBetweenPages?.() !== false) await this.#finishFullSegment()
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
    const kept = point.segments === this.#segments ? point : NOTHING_WRITTEN
    await segment.handle.truncate(kept.bytes)
    for (const collection of segment.collections) {
      const { rows, bytes } = kept.collections.find(({ field }) => field === collection.field) ?? { rows: 0, bytes: 0 }
      await collection.handle.truncate(bytes)
      segment.bytesInAll -= collection.bytes - bytes
      collection.rows = rows
      collection.bytes = bytes
    }
    segment.bytesInAll -= segment.bytes - kept.bytes
    segment.rows = kept.rows
    segment.bytes = kept.bytes
    segment.pages.length = kept.pages
    segment.rejected.length = kept.rejected
  }

  async #finishFullSegment(): Promise<void> {
    const { loadRowsMax, loadBytesMax, firstLoadBytesMax = FIRST_LOAD_BYTES_MAX } = this.#limits
    if (this.#open === undefined) return
    // The first load is small, so that rows are stored soon. Later loads fill DuckDB's row groups.
    const grown = Math.min(loadBytesMax, firstLoadBytesMax * 2 ** (this.#segments - 1))
    const bytesMax = this.#open.rowBytesMax > LONG_ROW_BYTES ? Math.min(grown, LONG_ROWS_LOAD_BYTES) : grown
    if (this.#open.rows >= loadRowsMax || this.#open.bytesInAll >= bytesMax) await this.#finishSegment()
  }

  async #startSegment(): Promise<OpenSegment> {
    const file = join(this.#directory, `segment-${this.#segments}.ndjson`)
    this.#segments += 1
    try {
      await mkdir(this.#directory, { recursive: true, mode: PRIVATE_FOLDER })
      const handle = await open(file, APPENDING, PRIVATE_FILE)
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
    // A load needs a catalogue that does not change, so the segment gets a copy.
    this.#full.push({ ...segment, collections, catalog: this.#catalog.snapshot() })
  }
}

async function append(handle: FileHandle, lines: Buffer): Promise<number> {
  const { length } = lines
  await handle.appendFile(lines)
  release(lines)
  return length
}

/** Frees the memory of the buffer immediately. V8 would keep the lines of about ten pages until it collects garbage. */
function release({ buffer }: Buffer): void {
  // Node puts small buffers into one shared block of memory. Freeing the block would destroy other buffers.
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0)
}

async function startCollection(segment: OpenSegment, { field, ids }: CollectionPage): Promise<OpenCollection> {
  const file = `${segment.file}.${segment.collections.length}`
  const handle = await open(file, APPENDING, PRIVATE_FILE)
  const collection = { field, file, handle, rows: 0, bytes: 0, lineBytesMax: 0, ids }
  segment.collections.push(collection)
  return collection
}

async function closeAll(segment: OpenSegment): Promise<void> {
  await Promise.all([segment, ...segment.collections].map(({ handle }) => handle.close()))
}

function stagingError(error: unknown, file: string): unknown {
  const code = (error as { code?: unknown }).code
  if (code === 'ENOENT') return stagedMissing(`${file} could not be written: its folder is gone`, error)
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return folderRefused(dirname(file), error)
  return new SyncError('DISK_FULL', `no space is left for staged rows in ${file}`, {
    cure: 'Free some space and run it again: the unfinished load stored nothing, and committed rows are safe.',
    data: { path: file },
    cause: error,
  })
}

export function stagedMissing(what: string, cause?: unknown): SyncError {
  return new SyncError('STAGED_MISSING', what, {
    cure: 'The window is pulled again. If it happens again, check that all workers share one staging directory and that no other program cleans it.',
    ...(cause === undefined ? {} : { cause }),
  })
}

type StagedFile = Pick<StagedCollection, 'file' | 'bytes'>

/** Throws STAGED_MISSING unless each file of the segment has the size that was written. */
export async function checkSegment(
  segment: StagedFile & { readonly collections: readonly StagedFile[] },
): Promise<void> {
  for (const { file, bytes } of [segment, ...segment.collections]) {
    const { size } = await stat(file).catch((error: unknown) => {
      throw stagedMissing(`the staged rows ${file} are gone`, error)
    })
    if (size !== bytes) throw stagedMissing(`the staged rows ${file} have ${size} bytes instead of ${bytes}`)
  }
}
