/** Reads rows again after a configuration change, newest first. Stores its progress, but does not move the mark. */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import { nextCoverage, partsNewestFirst } from '../plan/coverage.ts'
import { floorToSecond } from '../plan/window.ts'
import { readAllRows, readNewest } from './allRows.ts'
import { readSettingsOf } from './privacy.ts'
import type { SyncContext } from './context.ts'
import type { Reading } from './walk/reading.ts'

export interface Refill {
  readonly until: Instant
  /** Stores the time up to which rows must still be read again, or undefined if none must be. */
  readonly record: (refillUntil: Instant | undefined) => Promise<void>
  /** Set only after `tidemark reset`. Marks as deleted all rows that were not read again, and returns their number. */
  readonly endReset: (() => Promise<number>) | undefined
}

/** Stores the settings; must be called before rows are read. If they have changed, returns which rows to read again. */
export async function openCoverage(
  context: SyncContext,
  { plan: { config, declaration, scope, runId, window } }: Reading,
  mark: Instant | undefined,
): Promise<Refill | undefined> {
  const { warehouse, fence } = context
  const place = { report: config.name, scope, fence }
  const stored = await warehouse.books.coverage(place)
  const coverage = nextCoverage(stored, readSettingsOf(context.settings, config.name), mark)
  if (coverage !== stored) await warehouse.recordCoverage(place, coverage)
  const record = (refillUntil: Instant | undefined) => warehouse.recordCoverage(place, { ...coverage, refillUntil })
  if (coverage.refillUntil === undefined) return undefined
  const startedAt = floorToSecond(window.serviceTime)
  const ending = { report: declaration, scope, fence, runId, startedAt, currencies: context.settings.currencies }
  const endReset = () => warehouse.endReset({ ...ending, now: context.clock.now() })
  return { until: coverage.refillUntil, record, endReset: coverage.because.includes('reset') ? endReset : undefined }
}

/** Stores the privacy rules for a backfill if the report has not run yet. Removes values that are now private. */
export async function storeSettings(context: SyncContext, report: ReportName, scope: string): Promise<void> {
  const { warehouse, fence } = context
  const { mark } = await warehouse.books.lastWindow(report, scope)
  if (mark !== undefined) return
  const stored = await warehouse.books.coverage({ report, scope })
  const wanted = readSettingsOf(context.settings, report)
  if (stored !== undefined && stored.settings.columns === wanted.columns) return
  await warehouse.recordCoverage({ report, scope, fence }, nextCoverage(stored, wanted, undefined))
}

/** Reads old rows again in parts, newest first. They do not move the high-water mark, and do not count as late. */
export async function readAgain(context: SyncContext, reading: Reading, refill: Refill): Promise<void> {
  const { until, record, endReset } = refill
  const { config, declaration } = reading.plan
  await reading.intake.commit()
  reading.intake.reason = { kind: 'reread' }
  const parts = declaration.window.required ? partsNewestFirst(config.start, until) : [undefined]
  for (const part of parts) {
    for await (const slice of part === undefined ? [await readAllRows(reading)] : reading.window(part))
      await reading.close(slice)
    await reading.intake.commit()
    if (part !== parts.at(-1)) await record(part?.since)
  }
  if (endReset === undefined) return record(undefined)
  // Reads rows that were edited while the parts were read. Otherwise they would be marked as deleted.
  if (declaration.window.required || reading.asksCreated)
    await readNewest(context, reading, reading.plan.window.serviceTime)
  reading.intake.figures.deleted += await endReset()
}
