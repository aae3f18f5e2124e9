/** Reads a window of a backfill into files with a manifest, which the owner of the warehouse loads. */
import { randomUUID, createHash } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { assert, SyncError } from '../../errors.ts'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../folders.ts'
import type { Instant } from '../../instant.ts'
import { isSameProfile, joinProfiles, type PagingProfile } from '../../plan/pagingProfile.ts'
import { type CatalogValues, ObjectCatalog } from '../../staging/catalog.ts'
import { checkSegment, filesOf, type Segment, stagedMissing } from '../../staging/spool.ts'
import type { ClosedWindow } from '../../warehouse/books/windows.ts'
import type { Fence } from '../../warehouse/books/fences.ts'
import type { BackfillLoad, LoadInput, LoadResult } from '../../warehouse/load/loadInput.ts'
import type { SyncContext, SyncSettings, WalkContext } from '../context.ts'
import { followersOf } from '../followers.ts'
import { loadStaged } from '../intake.ts'
import { loadRules, privacyTextOf } from '../privacy.ts'
import { Reading } from '../walk/reading.ts'
import { readServiceTime } from '../walk/serviceTime.ts'

const VERSION = 3
const MANIFEST = 'manifest.json'

export interface WindowRequest {
  readonly backfillId: string
  readonly report: ReportName
  readonly scope: string
  readonly number: number
  readonly since: Instant
  readonly until: Instant
  readonly fence: Fence
  /** Hash of the settings that affect requests. A worker with other settings refuses the job. */
  readonly question: string
  /** Long numbers are staged as strings with this prefix. Each warehouse has its own prefix. */
  readonly numberPrefix: string
  readonly profile: PagingProfile
}

interface PulledLoad {
  readonly segment: Omit<Segment, 'catalog'> | undefined
  readonly closes: readonly ClosedWindow[]
  readonly gone: BackfillLoad['gone']
  readonly requests: BackfillLoad['requests']
}

/** The manifest: a window whose rows are in the files of `directory`. */
export interface PulledWindow {
  readonly version: number
  readonly ask: WindowRequest
  readonly directory: string
  readonly catalog: CatalogValues
  readonly loads: readonly PulledLoad[]
  readonly profile: PagingProfile
  readonly pages: number
  readonly rows: number
}

/** Reads a window, in this process or in another one that shares the staging directory. */
export type Pull = (ask: WindowRequest, signal: AbortSignal) => Promise<PulledWindow>

export type PullContext = Omit<WalkContext, 'warehouse' | 'fence'>

export const pullHere =
  (context: PullContext): Pull =>
  (ask, signal) =>
    pullWindow({ ...context, signal, onProgress: () => undefined }, ask)

const NO_COUNTS = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, childrenWritten: 0, misfits: 0, rejected: 0 }

/** Reads the window into files. Throws errors of the walk, and CONFIG_INVALID if settings differ from `ask`. */
export async function pullWindow(given: PullContext, ask: WindowRequest): Promise<PulledWindow> {
  const { report, since, until, scope, profile } = ask
  const { settings } = given
  if (settingsHash(settings, report) !== ask.question) {
    const what = `the configuration of ${report} differs from that of the process that started its backfill`
    const cure = `Give all workers the same base_url, page_size, expand flags, filters, ask_created, columns and hash key for ${report}, and restart them.`
    throw new SyncError('CONFIG_INVALID', what, { report, cure })
  }
  const directory = `pulled-${ask.backfillId}-${ask.number}-${randomUUID()}`
  const folder = join(settings.staging, directory)
  const loads: PulledLoad[] = []
  const warehouse = { numberPrefix: ask.numberPrefix, load: (input: LoadInput) => moveLoad(input, folder, loads) }
  const context: WalkContext = { ...given, warehouse, fence: ask.fence, priority: 'behind' }
  try {
    const declaration = reportOf(report)
    const config = settings.reports[report]
    const window = { since, until, serviceTime: await readServiceTime(context, declaration, { currency: scope }) }
    const reason = { kind: 'backfill' } as const
    const plan = { declaration, config, scope, runId: ask.backfillId, window, profile, reason }
    await using reading = new Reading(context, plan)
    for await (const slice of reading.window({ since, until })) await reading.close(slice)
    await reading.intake.commit()
    const { pagesRead: pages, source } = reading
    const catalog = reading.intake.catalog.toValues()
    const rows = loads.reduce((sum, { segment }) => sum + (segment?.rows ?? 0), 0)
    const pulled = { version: VERSION, ask, directory, catalog, loads, profile: source.pages.profile, pages, rows }
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
    await writeFile(join(folder, MANIFEST), JSON.stringify(pulled), { mode: PRIVATE_FILE })
    return pulled
  } catch (error) {
    await discard(folder)
    throw error
  }
}

async function moveLoad(input: LoadInput, folder: string, loads: PulledLoad[]): Promise<LoadResult> {
  assert(input.kind === 'backfill', 'only windows of backfills are handed over')
  const { segment, closes, gone, requests } = input
  const loadId = loads.length
  const moved = segment && (await moveSegment(segment, folder, `segment-${loadId}.ndjson`))
  loads.push({ segment: moved, closes, gone, requests })
  return { ...NO_COUNTS, loadId, rows: segment?.rows ?? 0, changes: [] }
}

async function moveSegment(given: Segment, folder: string, file: string): Promise<Omit<Segment, 'catalog'>> {
  const { catalog: _, ...segment } = given
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
  const collections = segment.collections.map((each, n) => ({ ...each, file: `${file}.${n}` }))
  const moved = { ...segment, file, collections }
  const names = filesOf(moved)
  for (const [n, from] of filesOf(segment).entries())
    await rename(from, join(folder, names[n] as string)).catch((error: unknown) => {
      const isGone = (error as { code?: unknown }).code === 'ENOENT'
      throw isGone ? stagedMissing('rows that were just staged are gone', error) : error
    })
  return moved
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

/** Loads the window and always removes its files. Throws STAGED_MISSING, FENCED and errors of the load. */
export async function loadPulled(context: SyncContext, pulled: PulledWindow): Promise<void> {
  const { settings, warehouse, client, clock, signal } = context
  const { report, numberPrefix, question } = pulled.ask
  const folder = join(settings.staging, basename(pulled.directory))
  try {
    if (numberPrefix !== warehouse.numberPrefix) throw stagedMissing('it was pulled for another warehouse')
    if (question !== settingsHash(settings, report)) throw stagedMissing('it was pulled with another configuration')
    const inputs = loadsOf(context, pulled, folder)
    for (const { segment } of inputs) if (segment !== undefined) await checkSegment(segment)
    for (const input of inputs) {
      signal.throwIfAborted()
      await loadStaged(warehouse, { ...input, now: clock.now(), serviceNow: client.serviceNow() })
    }
    await storeProfile(context, pulled)
  } finally {
    await discard(folder)
  }
}

/** A commit takes time, so an unchanged profile is not stored. */
async function storeProfile({ warehouse, settings }: SyncContext, { ask, profile }: PulledWindow): Promise<void> {
  const { report, fence } = ask
  if (isSameProfile(joinProfiles(ask.profile, profile), ask.profile)) return
  await warehouse.learnPagingProfile({ report, pageSize: settings.reports[report].pageSize, fence }, profile)
}

function loadsOf({ settings }: SyncContext, pulled: PulledWindow, folder: string) {
  const { ask, loads, rows, pages } = pulled
  const { backfillId, number, fence } = ask
  const report = reportOf(ask.report)
  const catalog = ObjectCatalog.from(pulled.catalog)
  const inFolder = <F extends { readonly file: string }>(each: F): F => ({
    ...each,
    file: join(folder, basename(each.file)),
  })
  const followers = followersOf(ask.report, settings.reports)
  const rules = loadRules(settings.reports[ask.report])
  const ending = { closes: loads.flatMap(({ closes }) => closes), completes: { backfillId, number, rows, pages } }
  return loads.map(({ segment, gone, requests }, index) => ({
    kind: 'backfill' as const,
    report,
    runId: backfillId,
    fence,
    followers,
    rules,
    gone,
    requests,
    segment: segment && { ...inFolder(segment), collections: segment.collections.map(inFolder), catalog },
    ...(index === loads.length - 1 ? ending : { closes: [] }),
  }))
}

const discard = (folder: string): Promise<void> => rm(folder, { recursive: true, force: true })

type HashedSettings = Pick<SyncSettings, 'baseUrl' | 'reports' | 'hashKey'>

/** Returns a hash of the settings that affect requests and rows. The hash hides filters, which may contain names. */
export function settingsHash(settings: HashedSettings, report: ReportName): string {
  const service = settings.baseUrl.href.replace(/\/+$/, '')
  const { pageSize, expand, filters, askCreated } = settings.reports[report]
  const sorted = Object.entries(filters).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const asked = JSON.stringify([
    service,
    pageSize,
    expand.toSorted(),
    sorted,
    askCreated,
    privacyTextOf(settings, report),
  ])
  return createHash('sha256').update(asked).digest('hex').slice(0, 16)
}
