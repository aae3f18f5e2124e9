/** Writes scanned rows and items to files. A segment is all files of one load. */
import { type FileHandle, mkdir, open, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { SyncError } from '../errors.ts'
import { folderRefused, PRIVATE_FILE, PRIVATE_FOLDER } from '../folders.ts'
import type { Instant } from '../instant.ts'
import { turns } from '../turns.ts'
import { ObjectCatalog } from './catalog.ts'
import type { PageLines, ItemIds } from './itemLines.ts'
import type { ScannedPage } from './scanPage.ts'

export interface SpoolLimits {
  readonly loadRowsMax: number
  readonly loadBytesMax: number
  /** Limit of the first load, in bytes. The limit doubles with each later load, up to `loadBytesMax`. */
  readonly firstLoadBytesMax?: number
  /** Returns false while the next page must be in the same load. */
  readonly cutsBetweenPages?: () => boolean
}

export interface PageTimes {
  readonly observedAt: Instant
  /** The service's clock when the request arrived, or slightly before. */
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

/** A file with one line for each item of a collection. */
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

/** Returns all files of a segment, which must be moved and removed together. */
export const filesOf = ({ file, collections }: Pick<Segment, 'file' | 'collections'>): readonly string[] => [
  file,
  ...collections.map((collection) => collection.file),
]

/** A position in the open segment. `rewindTo` removes the pages that were added after it. */
export interface SpoolPosition {
  readonly segments: number
  readonly files: readonly { readonly rows: number; readonly bytes: number }[]
  readonly pages: number
  readonly rejected: number
}

const NOTHING_WRITTEN = { files: [], pages: 0, rejected: 0 } as const

type OpenFile = { -readonly [K in keyof StagedCollection]: StagedCollection[K] } & { readonly handle: FileHandle }

interface OpenSegment {
  readonly path: string
  /** The first file contains the rows, and the others contain items. */
  readonly files: OpenFile[]
  readonly pages: StagedPage[]
  readonly rejected: StagedReject[]
}

/** The `field` of the file that contains rows. */
const ROWS = ''

/** Writes go to the end of the file, even after `rewindTo` has shortened the file. */
const APPENDING = 'a'
/** DuckDB has 2,048 rows in memory at once, so long rows need smaller segments. */
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
  readonly #inTurn = turns()

  /** Creates `directory` when the first page is added, and deletes it when the spool is disposed. */
  constructor(directory: string, catalog: ObjectCatalog, limits: SpoolLimits) {
    this.#directory = directory
    this.#catalog = catalog
    this.#limits = limits
  }

  add(page: ScannedPage, times: PageTimes, asked: StagedPage['asked'] = {}): Promise<void> {
    return this.#inTurn(() => this.#write(page, times, asked))
  }

  position(): Promise<SpoolPosition> {
    return this.#inTurn(async () => {
      if (this.#open === undefined) return { segments: this.#segments + 1, ...NOTHING_WRITTEN }
      const { pages, rejected } = this.#open
      const files = this.#open.files.map(({ rows, bytes }) => ({ rows, bytes }))
      return { segments: this.#segments, files, pages: pages.length, rejected: rejected.length }
    })
  }

  /** Removes rows that were added to the open segment after `position`. */
  rewindTo(position: SpoolPosition): Promise<void> {
    return this.#inTurn(() => this.#shorten(position))
  }

  /** Ends a segment that is full. Call this after the last page that belongs in the same load. */
  cutWhenFull(): Promise<void> {
    return this.#inTurn(() => this.#finishFullSegment())
  }

  /** Returns the finished segments once. The caller must remove the files of the segments. */
  takeFull(): Segment[] {
    return this.#full.splice(0)
  }

  async takeRest(): Promise<Segment[]> {
    await this.#inTurn(() => this.#finishSegment())
    return this.takeFull()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#inTurn(async () => {
      const open = this.#open
      this.#open = undefined
      try {
        if (open !== undefined) await closeAll(open)
      } finally {
        if (this.#segments > 0) await rm(this.#directory, { recursive: true, force: true })
      }
    })
  }

  async #write(page: ScannedPage, times: PageTimes, asked: StagedPage['asked']): Promise<void> {
    const segment = this.#open ?? (await this.#startSegment())
    const { stagedRows: rows, rowBytesMax: lineBytesMax } = page
    const pageOfRows = { field: ROWS, rows, lineBytesMax, ids: 'none' as const, lines: (n: number) => page.lines(n) }
    const index = this.#pages
    this.#pages += 1
    try {
      for (const each of [pageOfRows, ...page.collections]) await append(segment, each, index)
    } catch (error) {
      throw stagingError(error, segment.path)
    }
    segment.pages.push({ index, ...times, asked })
    for (const { reason, text } of page.rejected) segment.rejected.push({ pageIndex: index, reason, text })
    if (this.#limits.cutsBetweenPages?.() !== false) await this.#finishFullSegment()
  }

  async #startSegment(): Promise<OpenSegment> {
    const path = join(this.#directory, `segment-${this.#segments}.ndjson`)
    await mkdir(this.#directory, { recursive: true, mode: PRIVATE_FOLDER }).catch((error: unknown) => {
      throw stagingError(error, path)
    })
    this.#segments += 1
    this.#open = { path, files: [], pages: [], rejected: [] }
    return this.#open
  }

  async #shorten(position: SpoolPosition): Promise<void> {
    const segment = this.#open
    if (segment === undefined) return
    const kept = position.segments === this.#segments ? position : NOTHING_WRITTEN
    for (const [n, file] of segment.files.entries()) {
      const { rows, bytes } = kept.files[n] ?? { rows: 0, bytes: 0 }
      await file.handle.truncate(bytes)
      Object.assign(file, { rows, bytes })
    }
    segment.pages.length = kept.pages
    segment.rejected.length = kept.rejected
  }

  async #finishFullSegment(): Promise<void> {
    const { loadRowsMax, loadBytesMax, firstLoadBytesMax = FIRST_LOAD_BYTES_MAX } = this.#limits
    const files = this.#open?.files ?? []
    const [rows] = files
    if (rows === undefined) return
    // The first load is small, so that rows are stored soon.
    const grown = Math.min(loadBytesMax, firstLoadBytesMax * 2 ** (this.#segments - 1))
    const bytesMax = rows.lineBytesMax > LONG_ROW_BYTES ? Math.min(grown, LONG_ROWS_LOAD_BYTES) : grown
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    if (rows.rows >= loadRowsMax || bytes >= bytesMax) await this.#finishSegment()
  }

  async #finishSegment(): Promise<void> {
    const open = this.#open
    if (open === undefined) return
    this.#open = undefined
    await closeAll(open)
    const [rowFile, ...itemFiles] = open.files
    if (rowFile === undefined) return
    const { file, rows, bytes, lineBytesMax: rowBytesMax } = rowFile
    const collections = itemFiles.filter((each) => each.rows > 0).map(({ handle: _handle, ...items }) => items)
    // Later scans change the catalogue, so the segment gets a copy.
    const catalog = ObjectCatalog.from(this.#catalog.toValues())
    const { pages, rejected } = open
    this.#full.push({ file, rows, bytes, rowBytesMax, collections, pages, rejected, catalog })
  }
}

async function append({ path, files }: OpenSegment, page: PageLines, pageIndex: number): Promise<void> {
  const file = files.find(({ field }) => field === page.field) ?? (await startFile(path, files, page))
  const lines = page.lines(pageIndex)
  const { length } = lines
  await file.handle.appendFile(lines)
  release(lines)
  file.rows += page.rows
  file.bytes += length
  file.lineBytesMax = Math.max(file.lineBytesMax, page.lineBytesMax)
  if (file.ids !== page.ids) file.ids = 'unsure'
}

async function startFile(path: string, files: OpenFile[], { field, ids }: PageLines): Promise<OpenFile> {
  const file = files.length === 0 ? path : `${path}.${files.length - 1}`
  const handle = await open(file, APPENDING, PRIVATE_FILE)
  const started: OpenFile = { field, ids, file, handle, rows: 0, bytes: 0, lineBytesMax: 0 }
  files.push(started)
  return started
}

/** Frees the memory at once. V8 would keep the lines of about ten pages until it collects garbage. */
function release({ buffer }: Buffer): void {
  // Only large buffers are released: small ones share a block of memory that others still need.
  if (buffer instanceof ArrayBuffer && buffer.byteLength > Buffer.poolSize) buffer.transfer(0)
}

async function closeAll(segment: OpenSegment): Promise<void> {
  await Promise.all(segment.files.map(({ handle }) => handle.close()))
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
export async function checkSegment(segment: StagedFile & { collections: readonly StagedFile[] }): Promise<void> {
  for (const { file, bytes } of [segment, ...segment.collections]) {
    const { size } = await stat(file).catch((error: unknown) => {
      throw stagedMissing(`the staged rows ${file} are gone`, error)
    })
    if (size !== bytes) throw stagedMissing(`the staged rows ${file} have ${size} bytes instead of ${bytes}`)
  }
}
