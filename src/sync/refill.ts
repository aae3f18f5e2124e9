/**
 * Reads rows again after a change of the configuration (more collections, other filters, an earlier start): newest
 * first, after the changes of the same run. Finished parts are recorded; marks do not move.
 */
import type { ReportName } from '../../schema/index.ts'
import type { Instant } from '../instant.ts'
import { type Asked, nextCoverage, partsNewestFirst } from '../plan/coverage.ts'
import { everySlice } from './everything.ts'
import { privacyTextOf } from './privacy.ts'
import type { SyncContext } from './context.ts'
import type { Reading } from './walk/reading.ts'

/** Rows that have to be read again: all that were modified up to `until`. */
export interface Refill {
  readonly until: Instant
  /** Stores up to when rows have to be read again; undefined when all are read. */
  readonly record: (refillUntil: Instant | undefined) => Promise<void>
}

/**
 * Compares the earlier configuration with the present one, before the run reads anything: rows up to `mark` were read
 * with the earlier one. Returns what the run has to read again after its changes.
 */
export async function openCoverage(
  context: SyncContext,
  { plan: { config, scope } }: Reading,
  mark: Instant | undefined,
): Promise<Refill | undefined> {
  const { warehouse, fence } = context
  const place = { report: config.name, scope, fence }
  const held = await warehouse.coverage(place)
  const coverage = nextCoverage(held, wantedOf(context, config.name), mark)
  if (coverage !== held) await warehouse.recordCoverage(place, coverage)
  const record = (refillUntil: Instant | undefined) => warehouse.recordCoverage(place, { ...coverage, refillUntil })
  return coverage.refillUntil === undefined ? undefined : { until: coverage.refillUntil, record }
}

/**
 * Records the configuration when a backfill stores rows before the first run of their scope. That run then knows under
 * which privacy rules they were stored. Stored values that have become private are removed.
 */
export async function rememberQuestion(context: SyncContext, report: ReportName, scope: string): Promise<void> {
  const { warehouse, fence } = context
  const { mark } = await warehouse.lastWindow(report, scope)
  if (mark !== undefined) return
  const held = await warehouse.coverage({ report, scope })
  const wanted = wantedOf(context, report)
  if (held !== undefined && held.asked.columns === wanted.columns) return
  await warehouse.recordCoverage({ report, scope, fence }, nextCoverage(held, wanted, undefined))
}

function wantedOf({ settings }: SyncContext, report: ReportName): Asked {
  const { start, filters, expand } = settings.reports[report]
  return { start, filters, expand, columns: privacyTextOf(settings, report) }
}

/** Reads the parts again, newest first. Their rows are before the mark: they move no mark and do not count as late. */
export async function readAgain(reading: Reading, { until, record }: Refill): Promise<void> {
  const { config, declaration } = reading.plan
  await reading.intake.commit()
  reading.intake.source = { kind: 'reread' }
  const parts = declaration.window.required ? partsNewestFirst(config.start, until) : [undefined]
  for (const part of parts) {
    for await (const slice of part === undefined ? everySlice(reading) : reading.window(part))
      await reading.close(slice)
    await reading.intake.commit()
    await record(part === parts.at(-1) ? undefined : part?.since)
  }
}
