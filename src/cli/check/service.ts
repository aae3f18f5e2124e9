/** The checks that send requests: for a token, for a small page of each report, and for the service's clock. */
import { reportNames, reportOf, type Declaration, type ReportName } from '../../../schema/index.ts'
import type { ReportingClient } from '../../client/reporting.ts'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { asSyncError } from '../../errors.ts'
import { millisBetween, MINUTE_MS } from '../../instant.ts'
import { UNKNOWN_PAGING } from '../../plan/pagingProfile.ts'
import type { Question, RecordParameters } from '../../plan/question.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import type { ScannedPage } from '../../staging/scanPage.ts'
import { PageSource } from '../../sync/walk/pageSource.ts'
import { contextWithoutLoads } from '../../wiring/openContext.ts'
import { counted, duration, grouped } from '../layout.ts'
import { fail, type Finding, ok, skip, warn } from './finding.ts'

export interface CheckContext {
  readonly config: Config
  readonly client: ReportingClient
  readonly clock: Clock
  readonly signal: AbortSignal
}

export async function checkService(context: CheckContext): Promise<Finding[]> {
  const { config, clock } = context
  const token = await checkToken(context)
  const findings = [token]
  for (const report of reportNames) {
    const { enabled, offReason } = config.reports[report]
    if (!enabled) findings.push(skip(report, `off: ${offReason ?? 'not configured'}`))
    else if (token.verdict === 'fail') findings.push(skip(report, 'not requested, because there is no token'))
    else findings.push(await checkReport(context, report))
    context.signal.throwIfAborted()
  }
  return [...findings, checkLimit(context.client), checkClock(context.client, clock)]
}

const TOKEN_LIFE_MS_MIN = MINUTE_MS

async function checkToken({ client, clock, signal, config }: CheckContext): Promise<Finding> {
  try {
    const { expiresAt, scopes } = await client.token(signal)
    const livesMs = millisBetween(clock.now(), expiresAt)
    const { scopes: asked = [] } = config.service
    const given = scopes === undefined ? 'scopes unknown' : `scopes ${scopes.join(' ')}`
    const found = `lives ${duration(livesMs)}; ${given}${asked.length === 0 ? '' : `; requested ${asked.join(' ')}`}`
    const withheld = scopes === undefined ? [] : asked.filter((scope) => !scopes.includes(scope))
    if (withheld.length > 0) {
      const cure = "Ask the service's owner to grant them to this client, or take them out of service.scopes."
      return warn('token', `${found}; not given: ${withheld.join(' ')}`, cure)
    }
    if (livesMs < TOKEN_LIFE_MS_MIN) {
      const cure = "Ask the service's owner for a longer life: token requests are limited too."
      return warn('token', `${found}; that is short`, cure)
    }
    return ok('token', found)
  } catch (error) {
    return fail('token', asSyncError(error))
  }
}

async function checkReport(context: CheckContext, report: ReportName): Promise<Finding> {
  try {
    const pages = pagesOf(context, report)
    const question = questionOf(pages.report, context)
    // Requests a single row first, so that a missing permission costs only a small request.
    await pages.readFirst(question, 1)
    const { page } = await pages.read(question, 1)
    const clamped = await clampOf(pages, question, page)
    if (page.rowCount > 1 && (await repeatsPages(pages, question)))
      return warn(
        report,
        'may be read; every page is the first one again: the service ignores pageNumber',
        `Nothing is lost: windows are cut until one page has all their rows, which takes many requests. Set a larger page_size for ${report}, and tell the service's owner.`,
      )
    if (clamped !== undefined)
      return warn(
        report,
        `may be read; ${counted(pages.pageSize, 'row')} a page requested, ${grouped(clamped)} returned`,
        `The service returns shorter pages than requested. No row is lost by this. Set page_size: ${clamped} for ${report} to end this warning.`,
      )
    const rows = await rowsText(pages, question, page)
    return ok(report, page.rowCount > 1 ? `may be read; ${rows}; pages follow each other` : `may be read; ${rows}`)
  } catch (error) {
    return fail(report, asSyncError(error))
  }
}

/** Returns, for example, `20 in all`, `38 rows (2 deleted not counted)` or `500 rows on the first page`. */
async function rowsText(pages: PageSource, question: Question, page: ScannedPage): Promise<string> {
  const totalOf = ({ envelope, rowCount }: ScannedPage) =>
    envelope.totalCount ?? (rowCount < pages.pageSize ? rowCount : undefined)
  const total = totalOf(page)
  const rows = page.envelope.totalCount === undefined ? counted(page.rowCount, 'row') : `${grouped(total ?? 0)} in all`
  const shown = total === undefined ? `${rows} on the first page` : rows
  if (pages.report.includeDeleted === undefined) return shown
  const { page: withDeleted } = await pages.read({ ...question, includeDeleted: true }, 1)
  const deleted = (totalOf(withDeleted) ?? NaN) - (total ?? NaN)
  if (deleted <= 0) return shown
  return `${shown} (${Number.isNaN(deleted) ? 'deleted rows' : `${grouped(deleted)} deleted`} not counted)`
}

/** Returns a page source that adds the fields of its rows to `catalog`. */
export function pagesOf(context: CheckContext, name: ReportName, catalog = new ObjectCatalog()): PageSource {
  const { config, client, clock, signal } = context
  const plan = { report: reportOf(name), pageSize: config.reports[name].pageSize, catalog, profile: UNKNOWN_PAGING }
  return new PageSource(contextWithoutLoads(config, { client, clock, signal }), plan)
}

export function questionOf(declaration: Declaration, { config, client, clock }: CheckContext): Question {
  const { name, currency, perRecord, window } = declaration
  const { start, filters, entities } = config.reports[name as ReportName]
  const until = client.serviceNow() ?? clock.now()
  const record: RecordParameters =
    perRecord?.follows === 'enquiries' ? { enquiryId: 1 } : { entityId: entities[0]?.entityId ?? 0, entityRecordId: 1 }
  return {
    expand: [],
    filters: perRecord === undefined ? filters : {},
    currency: currency === undefined ? undefined : config.currencies[0],
    ...(window.required && { window: { since: start, until } }),
    ...(perRecord !== undefined && { record }),
  }
}

/** Returns the service's page size if it is smaller than requested, or undefined if it is not. */
export async function clampOf(pages: PageSource, question: Question, page: ScannedPage): Promise<number | undefined> {
  const { pageSize, totalCount } = page.envelope
  if (pageSize !== undefined && pageSize < pages.pageSize) return pageSize
  if (page.rowCount === 0 || page.rowCount >= pages.pageSize) return undefined
  if (totalCount !== undefined) return totalCount > page.rowCount ? page.rowCount : undefined
  if (pages.report.answer === 'envelope') return undefined
  // If page 2 has new rows, page 1 was full, so the service returns fewer rows per page than requested.
  const seen = new Set(page.keys)
  const second = await pages.readLaterPage(question, 2)
  return second.page.keys.some((key) => !seen.has(key)) ? page.rowCount : undefined
}

/** How often pages are compared. Rows that move between two requests can make a single comparison wrong. */
const PAGING_TRIES = 3

/** Returns whether the service returns page 1 for every page number. */
export async function repeatsPages(pages: PageSource, question: Question): Promise<boolean> {
  for (let tries = 1; tries <= PAGING_TRIES; tries += 1) {
    const { page: first } = await pages.read(question, 1, 1)
    const { page: second } = await pages.readLaterPage(question, 2, 1)
    if (second.rowCount === 0 || second.keys[0] !== first.keys[0]) return false
  }
  return true
}

function checkLimit({ counters }: ReportingClient): Finding {
  const { requests, throttled } = counters
  const asked = counted(requests, 'request')
  if (throttled === 0) return ok('limit', `no request limit was reached in ${asked}`)
  return warn(
    'limit',
    `the service asked to wait ${throttled === 1 ? 'once' : `${throttled} times`} in ${asked} (429)`,
    'Tidemark waits as requested. If runs become slow, lower service.concurrency or set service.requests_per_second.',
  )
}

const SKEW_MS_MAX = 5_000

function checkClock(client: ReportingClient, clock: Clock): Finding {
  const service = client.serviceNow()
  if (service === undefined) return skip('clock', 'the service sent no response to compare with')
  if (client.clockIsOurs) {
    return warn(
      'clock',
      "the service's answers carry no Date header",
      "This machine's clock is used instead: keep it synchronised (NTP), or have the proxy pass the header on.",
    )
  }
  return skewFinding(millisBetween(service, clock.now()))
}

/** Differences between clocks are rounded to this unit, because the service's Date header has whole seconds. */
const SKEW_GRAIN_MS = 5_000

/** Compares the clocks. `aheadMs` is this machine's time minus the service's time. */
export function skewFinding(aheadMs: number): Finding {
  const grainMs = Math.abs(aheadMs) + SKEW_GRAIN_MS < MINUTE_MS ? SKEW_GRAIN_MS : MINUTE_MS
  const apart = duration(Math.round(Math.abs(aheadMs) / grainMs) * grainMs)
  if (Math.abs(aheadMs) <= SKEW_MS_MAX) return ok('clock', `within ${duration(SKEW_MS_MAX)} of the service's`)
  return warn(
    'clock',
    `this machine is about ${apart} ${aheadMs > 0 ? 'ahead of' : 'behind'} the service`,
    "Nothing is lost: windows are cut on the service's clock. Synchronise this machine's clock (NTP) so that logs agree.",
  )
}
