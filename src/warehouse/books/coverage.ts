/** Stores which ranges of each scope were read, and with which settings. */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { type ReadSettings, parseChanges, type Coverage, changesText } from '../../plan/coverage.ts'
import type { Instant } from '../../instant.ts'
import { newlyPrivate } from '../../plan/privacy.ts'
import { orNull, type Sql, text, time, type WithNulls, withoutNulls } from '../database/sql.ts'
import { restartFeed } from './changeFeed.ts'
import { forgetValues } from '../tables/forgetValues.ts'
import type { Declaration } from '../../../schema/report.ts'
import { merged, type Span } from '../../plan/spans.ts'

export interface CoveredPlace {
  readonly report: string
  readonly scope: string
}

const placeCondition = ({ report, scope }: CoveredPlace): string =>
  `report = ${text(report)} AND scope = ${text(scope)}`

export async function coverageOf(sql: Sql, place: CoveredPlace): Promise<Coverage | undefined> {
  const [row] = await sql.cachedRows<{ asked: string; until: Instant | null; because: string | null }>(`
    SELECT asked::VARCHAR AS asked, epoch_us(refill_until) AS until, because FROM tidemark.coverage WHERE ${placeCondition(place)}`)
  if (row === undefined) return undefined
  const settings = JSON.parse(row.asked) as ReadSettings
  return { settings, refillUntil: row.until ?? undefined, because: parseChanges(row.because) }
}

export async function storedPrivacyRules(sql: Sql, report: string): Promise<(string | undefined)[]> {
  const rows = await sql.rows<{ columns: string | null }>(`
    SELECT DISTINCT asked ->> 'columns' AS columns FROM tidemark.coverage WHERE report = ${text(report)}`)
  return rows.map(({ columns }) => columns ?? undefined)
}

/** Stores the settings of a scope. Deletes stored values of columns that are now private. */
export async function recordCoverage(sql: Sql, place: CoveredPlace, coverage: Coverage): Promise<void> {
  const { settings, refillUntil, because } = coverage
  const reason = refillUntil === undefined ? undefined : changesText(because)
  const before = await coverageOf(sql, place)
  const now = newlyPrivate(before?.settings.columns, settings.columns)
  const report = place.report as ReportName
  const changed = await forgetValues(sql, { report: reportOf(report), scope: place.scope, now })
  if (changed) await restartFeed(sql, report, 'stored values became private')
  const values = [place.report, place.scope, JSON.stringify(settings)].map(text).join(', ')
  await sql.run(`
    DELETE FROM tidemark.coverage WHERE ${placeCondition(place)};
    INSERT INTO tidemark.coverage VALUES (${values}, ${orNull(refillUntil, time)}, ${orNull(reason, text)})`)
}

export async function forgetCoverage(sql: Sql, report: string, kept: readonly string[]): Promise<void> {
  const others = kept.length === 0 ? '' : ` AND scope NOT IN (${kept.map(text).join(', ')})`
  const which = `tidemark.coverage WHERE report = ${text(report)}${others}`
  // A DELETE without matches would still clear the cached coverage.
  if ((await sql.cachedRows(`SELECT 1 FROM ${which}`)).length > 0) await sql.run(`DELETE FROM ${which}`)
}

type CoveredSpan = Span & CoveredPlace

/** Adds closed windows to the covered ranges. Audit reports use marks instead. */
export async function cover(
  sql: Sql,
  windows: readonly (Omit<CoveredSpan, 'report'> & { readonly report: Declaration })[],
): Promise<void> {
  const rows = await sql.cachedRows<WithNulls<CoveredSpan>>(`
    SELECT report, scope, epoch_us(since) AS since, epoch_us(until) AS until FROM tidemark.covered ORDER BY since NULLS FIRST`)
  const stored = Map.groupBy(rows.map(withoutNulls<CoveredSpan>), placeCondition)
  const read = windows.flatMap(({ report, ...window }) =>
    report.perRecord === undefined ? [{ ...window, report: report.name }] : [],
  )
  const changed = [...Map.groupBy(read, placeCondition)].flatMap(([place, more]) => {
    const before = stored.get(place) ?? []
    const after = merged([...before, ...more])
    const names = more.slice(0, 1).flatMap(({ report, scope }) => [text(report), text(scope)])
    const values = after.map(({ since, until }) => `(${[...names, orNull(since, time), time(until)].join()})`)
    return isSame(before, after) ? [] : [{ place: `(${place})`, values }]
  })
  if (changed.length === 0) return
  await sql.run(`DELETE FROM tidemark.covered WHERE ${changed.map(({ place }) => place).join(' OR ')}`)
  const values = changed.flatMap((each) => each.values)
  if (values.length > 0) await sql.run(`INSERT INTO tidemark.covered VALUES ${values.join()}`)
}

const isSame = (a: readonly Span[], b: readonly Span[]): boolean =>
  a.length === b.length && a.every((span, n) => span.since === b[n]?.since && span.until === b[n]?.until)
