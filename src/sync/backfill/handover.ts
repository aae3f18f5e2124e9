/** Hands a pulled window to the process that owns the warehouse: its rows and a manifest, in a staging folder. */
import { randomUUID, createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { assert } from '../../errors.ts'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../folders.ts'
import type { PagingProfile } from '../../plan/pagingProfile.ts'
import type { CatalogText, ObjectCatalog } from '../../staging/catalog.ts'
import { type Segment, checkSegment, stagedMissing } from '../../staging/spool.ts'
import type { ClosedWindow } from '../../warehouse/books/books.ts'
import type { BackfillLoad, LoadInput, LoadResult } from '../../warehouse/load/loadInput.ts'
import type { Loader, SyncSettings } from '../context.ts'
import { privacyTextOf } from '../privacy.ts'
import type { ReportName } from '../../../schema/index.ts'
import type { Instant } from '../../instant.ts'
import type { Fence } from '../../warehouse/books/fences.ts'

/** A window whose manifest has another version is pulled again. */
const VERSION = 3
const MANIFEST = 'manifest.json'

export interface PulledLoad {
  readonly segment?: Omit<Segment, 'catalog'>
  readonly closes: readonly ClosedWindow[]
  readonly gone?: BackfillLoad['gone']
}

/** A window that was pulled and proven. Its rows are in files. All its values are plain and can be sent as JSON. */
export interface PulledWindow {
  readonly version: number
  readonly ask: PullAsk
  readonly directory: string
  readonly catalog: CatalogText
  readonly loads: readonly PulledLoad[]
  readonly profile: PagingProfile
  readonly pages: number
  readonly rows: number
}

const NO_COUNTS = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, childrenWritten: 0, misfits: 0, rejected: 0 }

export class Handover implements Loader {
  readonly numberMark: string
  readonly #ask: PullAsk
  readonly #staging: string
  readonly #directory: string
  readonly #loads: PulledLoad[] = []

  constructor(staging: string, ask: PullAsk) {
    this.numberMark = ask.numberMark
    this.#ask = ask
    this.#staging = staging
    this.#directory = `pulled-${ask.backfillId}-${ask.number}-${randomUUID()}`
  }

  async load(input: LoadInput): Promise<LoadResult> {
    assert(input.kind === 'backfill', 'only windows of backfills are handed over')
    const { segment, closes, gone } = input
    const number = this.#loads.length
    const kept = segment === undefined ? {} : { segment: await this.#keep(segment, `segment-${number}.ndjson`) }
    this.#loads.push({ ...kept, closes, ...(gone === undefined ? {} : { gone }) })
    return { ...NO_COUNTS, loadId: number, rows: segment?.rows ?? 0, changes: [] }
  }

  /** Writes the manifest. After this, another process can load the window. */
  async finish(
    catalog: ObjectCatalog,
    { profile, pages }: Pick<PulledWindow, 'profile' | 'pages'>,
  ): Promise<PulledWindow> {
    const pulled: PulledWindow = {
      version: VERSION,
      ask: this.#ask,
      directory: this.#directory,
      catalog: catalog.toText(),
      loads: this.#loads,
      profile,
      pages,
      rows: this.#loads.reduce((sum, { segment }) => sum + (segment?.rows ?? 0), 0),
    }
    await mkdir(join(this.#staging, this.#directory), { recursive: true, mode: PRIVATE_FOLDER })
    await writeFile(join(this.#staging, this.#directory, MANIFEST), JSON.stringify(pulled), { mode: PRIVATE_FILE })
    return pulled
  }

  discard(): Promise<void> {
    return rm(join(this.#staging, this.#directory), { recursive: true, force: true })
  }

  async #keep(segment: Segment, file: string): Promise<Omit<Segment, 'catalog'>> {
    const { rows, bytes, rowBytesMax, pages, rejected } = segment
    await mkdir(join(this.#staging, this.#directory), { recursive: true, mode: PRIVATE_FOLDER })
    await this.#move(segment.file, file)
    const collections = segment.collections.map((each, n) => ({ ...each, file: `${file}.${n}` }))
    for (const [n, each] of segment.collections.entries()) await this.#move(each.file, `${file}.${n}`)
    return { file, collections, rows, bytes, rowBytesMax, pages, rejected }
  }

  async #move(from: string, file: string): Promise<void> {
    await rename(from, join(this.#staging, this.#directory, file)).catch((error: unknown) => {
      throw (error as { code?: unknown }).code === 'ENOENT'
        ? stagedMissing('rows that were just staged are gone', error)
        : error
    })
  }
}

export async function readPulled(staging: string, directory: string): Promise<PulledWindow> {
  const path = join(staging, basename(directory), MANIFEST)
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw stagedMissing(`the manifest ${path} is gone`, error)
  })
  const pulled = JSON.parse(text) as PulledWindow
  if (pulled.version !== VERSION) throw stagedMissing(`${path} was written by another version of Tidemark`)
  return pulled
}

const stagedFile = (staging: string, { directory }: PulledWindow, { file }: { file: string }): string =>
  join(staging, basename(directory), basename(file))

type StagedSegment = Omit<Segment, 'catalog'>

export const stagedSegment = (staging: string, pulled: PulledWindow, segment: StagedSegment): StagedSegment => ({
  ...segment,
  file: stagedFile(staging, pulled, segment),
  collections: segment.collections.map((each) => ({ ...each, file: stagedFile(staging, pulled, each) })),
})

export async function checkStaged(staging: string, pulled: PulledWindow): Promise<void> {
  for (const { segment } of pulled.loads) {
    if (segment === undefined) continue
    await checkSegment(stagedSegment(staging, pulled, segment))
  }
}

export const discardPulled = (staging: string, { directory }: Pick<PulledWindow, 'directory'>): Promise<void> =>
  rm(join(staging, basename(directory)), { recursive: true, force: true })

export interface PullAsk {
  readonly backfillId: string
  readonly report: ReportName
  readonly scope: string
  readonly number: number
  readonly since: Instant
  readonly until: Instant
  /** The backfill's right to commit. It ends when a newer run takes over the report. */
  readonly fence: Fence
  /** Fingerprint of the settings that affect requests. A worker with other settings refuses the job. */
  readonly question: string
  /** Staging writes this text before each number that a double would round. Each warehouse has another text. */
  readonly numberMark: string
  readonly profile: PagingProfile
}

/** Returns a hash of the settings for requests and privacy, because their filters may contain personal names. */
export function questionOf(settings: Pick<SyncSettings, 'reports' | 'hashKey'>, report: ReportName): string {
  const { pageSize, expand, filters, askCreated } = settings.reports[report]
  const sorted = Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const asked = JSON.stringify([pageSize, expand.toSorted(), sorted, askCreated, privacyTextOf(settings, report)])
  return createHash('sha256').update(asked).digest('hex').slice(0, 16)
}
