/**
 * From scanned pages to committed loads: pages are spooled as they come, a full segment is loaded while the next one
 * fills, and only the last load closes the window and moves its mark.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { collectionFields } from '../../schema/tables.ts'
import type { Declaration } from '../../schema/report.ts'
import type { Instant } from '../instant.ts'
import { ORDINAL_FIELD, SHAPE_FIELD } from '../plan/stagedNames.ts'
import { ObjectCatalog } from '../staging/catalog.ts'
import type { ScannedPage } from '../staging/scanPage.ts'
import { type Segment, Spool, type StagedPage } from '../staging/spool.ts'
import type { LoadInput, LoadResult } from '../warehouse/load.ts'
import type { Rooms } from './rooms.ts'

export interface Figures {
  rows: number
  inserted: number
  updated: number
  deleted: number
  rejected: number
  childrenWritten: number
  schemaChanges: number
}

export const noFigures = (): Figures => ({
  rows: 0,
  inserted: 0,
  updated: 0,
  deleted: 0,
  rejected: 0,
  childrenWritten: 0,
  schemaChanges: 0,
})

export interface IntakeParts {
  readonly report: Declaration
  readonly runId: string
  readonly followers: LoadInput['followers']
  /** False: nothing is loaded before `finish`, since what the rows mean is only known then (differences). */
  readonly loadsAsItGoes: boolean
}

/** What only the last load knows. */
export type Finish = Pick<LoadInput, 'closes' | 'gone' | 'run' | 'replaces' | 'asked'>

export class Intake implements AsyncDisposable {
  readonly catalog: ObjectCatalog
  readonly figures = noFigures()
  readonly #rooms: Rooms
  readonly #parts: IntakeParts
  readonly #spool: Spool
  #loading: Promise<void> = Promise.resolve()

  constructor(rooms: Rooms, parts: IntakeParts) {
    const { settings } = rooms
    this.#rooms = rooms
    this.#parts = parts
    this.catalog = new ObjectCatalog(collectionFields(parts.report), [ORDINAL_FIELD, SHAPE_FIELD])
    const directory = join(settings.staging, `${parts.runId}-${parts.report.name}-${nextSpool()}`)
    this.#spool = new Spool(directory, this.catalog, settings.limits)
  }

  async add(page: ScannedPage, servedAt: Instant, asked: StagedPage['asked']): Promise<void> {
    await this.#spool.add(page, servedAt, asked)
    if (!this.#parts.loadsAsItGoes) return this.#spool.cutWhenFull()
    await this.#spool.cutWhenFull()
    for (const segment of this.#spool.takeFull()) await this.#loadInTurn({ closes: [] }, segment)
  }

  /** Loads what is left; the last load closes the windows and records the run. */
  async finish(finish: Finish): Promise<void> {
    const rest = (await this.#spool.takeRest()).filter((segment) => segment.rows > 0 || segment.rejected.length > 0)
    await this.#loading
    for (const segment of rest.slice(0, -1)) await this.#load({ closes: [], gone: finish.gone }, segment)
    await this.#load(finish, rest.at(-1))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loading.catch(() => undefined)
    await this.#spool[Symbol.asyncDispose]()
  }

  /** One load at a time runs beside the walk; the walk waits only when the next segment is full before it ends. */
  async #loadInTurn(finish: Finish, segment: Segment): Promise<void> {
    await this.#loading
    this.#loading = this.#load(finish, segment)
    this.#loading.catch(() => undefined)
  }

  async #load(finish: Finish, segment: Segment | undefined): Promise<void> {
    const { warehouse, clock, signal } = this.#rooms
    const { report, runId, followers } = this.#parts
    signal.throwIfAborted()
    const run = finish.run === undefined ? undefined : { ...finish.run, ...this.#figuresSoFar(finish.run) }
    const result = await warehouse.load({
      report,
      runId,
      now: clock.now(),
      segment,
      followers: followers ?? [],
      ...finish,
      run,
    })
    this.#count(result)
    if (segment !== undefined) await rm(segment.file, { force: true })
  }

  #figuresSoFar(run: NonNullable<LoadInput['run']>) {
    const { inserted, updated, deleted, rejected } = this.figures
    return {
      inserted: run.inserted + inserted,
      updated: run.updated + updated,
      deleted: run.deleted + deleted,
      rejected: run.rejected + rejected,
    }
  }

  #count(result: LoadResult): void {
    const { figures } = this
    figures.rows += result.rows
    figures.inserted += result.inserted
    figures.updated += result.updated
    figures.deleted += result.deleted
    figures.rejected += result.rejected
    figures.childrenWritten += result.childrenWritten
    figures.schemaChanges += result.changes.length
  }
}

let spools = 0
const nextSpool = (): number => {
  spools += 1
  return spools
}
