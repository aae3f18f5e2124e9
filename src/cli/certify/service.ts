/** Examines how a service pages and stamps a report. Only reads, with a limited number of requests. */
import { type ReportName, reportOf } from '../../../schema/index.ts'
import { asSyncError, SyncError } from '../../errors.ts'
import { type Instant, latest, millisBetween, SECOND_MS } from '../../instant.ts'
import { sawFirstNumber } from '../../plan/pagingProfile.ts'
import type { Question } from '../../plan/question.ts'
import { WALK_POLICIES } from '../../plan/slice.ts'
import type { FetchedPage, PageSource } from '../../sync/walk/pageSource.ts'
import { probeFirstNumber } from '../../sync/walk/probes/firstNumber.ts'
import { stampsOf } from '../../sync/walk/stampsOf.ts'
import type { RowKey } from '../../staging/scanPage.ts'
import { type Finding, ok, skip, warn } from '../check/finding.ts'
import { type CheckContext, clampOf, pagesOf, questionOf, repeatsPages } from '../check/service.ts'
import { counted, duration, grouped, timeText } from '../layout.ts'

/** At most this many pages of one report are requested. */
export const REQUESTS_MAX = 60
/** At most this many pages are read in order, so that requests are left for the other questions. */
const PAGES_IN_ORDER_MAX = 20

interface Survey {
  readonly pages: PageSource
  readonly question: Question
  readonly context: CheckContext
  readonly first: FetchedPage
  readonly clamp: number | undefined
  readonly isIgnored: boolean
  /** The pages in order, with the last request: an empty page or a refusal, if all pages were read. */
  readonly read: readonly FetchedPage[]
  readonly isWhole: boolean
}

/** Returns what the answers show, and what they do not show. Throws the errors of the first requests. */
export async function examine(given: CheckContext, report: ReportName): Promise<Finding[]> {
  const limits = { ...given.config.limits, walkPagesMax: REQUESTS_MAX }
  const context = { ...given, config: { ...given.config, limits } }
  const survey = await surveyOf(context, report)
  const questions = { totals, order, keys, window, stamps }
  const found = [...paging(survey)]
  for (const [name, ask] of Object.entries(questions)) {
    try {
      found.push(await ask(survey))
    } catch (thrown) {
      context.signal.throwIfAborted()
      const error = asSyncError(thrown)
      if (!(thrown instanceof SyncError)) throw thrown
      found.push(
        skip(
          name,
          error.code === 'WALK_TOO_LONG' ? `the limit of ${REQUESTS_MAX} requests was reached` : error.message,
        ),
      )
    }
  }
  return [...found, deletions(report)]
}

async function surveyOf(context: CheckContext, report: ReportName): Promise<Survey> {
  const pages = pagesOf(context, report)
  const question = questionOf(pages.report, context)
  const first = await firstPage(context, pages, question)
  const clamp = await clampOf(pages, question, first.page)
  const isIgnored = first.page.rowCount > 1 && (await repeatsPages(pages, question))
  const read = [first]
  const isPaged = () => !isIgnored && read.length < PAGES_IN_ORDER_MAX && (read.at(-1)?.page.rowCount ?? 0) > 0
  while (isPaged()) read.push(await pages.readLaterPage(question, read.length + 1))
  return { pages, question, context, first, clamp, isIgnored, read, isWhole: read.at(-1)?.page.rowCount === 0 }
}

async function firstPage(context: CheckContext, pages: PageSource, question: Question): Promise<FetchedPage> {
  const first = await pages.readFirst(question)
  const { answer, name } = pages.report
  const { start, pageSize } = context.config.reports[name as ReportName]
  const now = context.client.serviceNow() ?? context.clock.now()
  const terms = { answer, keyed: pages.keyed, pageSize, youngFrom: now, floor: start, ...context.config.limits }
  const source = { pages, question, axis: 'window', policy: WALK_POLICIES.changes, terms, concurrency: 1 } as const
  const number = await probeFirstNumber(source, question.window && { ...question.window, until: now }, first)
  pages.profile = sawFirstNumber(pages.profile, number ?? pages.profile.firstNumber)
  return number === 0 && first.sent !== 0 ? pages.read(question, 1) : first
}

function paging({ pages, clamp, isIgnored, read, isWhole }: Survey): Finding[] {
  const { firstNumber } = pages.profile
  const last = read.at(-1)
  const behind = last?.refusal === undefined ? 'an empty page' : `a refusal (${last.refusal.code})`
  const size = `page_size: ${clamp ?? pages.pageSize}`
  return [
    firstNumber === undefined
      ? skip('first page', 'there are too few rows to see whether pages are counted from 0 or from 1')
      : ok('first page', `pages are counted from ${firstNumber}`),
    clamp === undefined
      ? ok('page size', `${grouped(pages.pageSize)} rows were requested, and no shorter limit was seen; ${size}`)
      : warn(
          'page size',
          `${grouped(pages.pageSize)} rows were requested, ${grouped(clamp)} were returned`,
          `Set ${size}.`,
        ),
    isIgnored
      ? warn(
          'page numbers',
          'every page is the first one again: the service ignores the page number',
          'Set a larger page_size, and report it to the owner of the service.',
        )
      : ok('page numbers', 'pages follow each other'),
    isWhole
      ? ok('after the last page', `${behind} follows page ${read.length - 1}`)
      : skip(
          'after the last page',
          isIgnored ? 'page numbers are ignored' : `it has more than ${PAGES_IN_ORDER_MAX} pages`,
        ),
  ]
}

async function totals({ pages, read, isWhole, isIgnored }: Survey): Promise<Finding> {
  if (pages.report.answer === 'array') return skip('totals', 'a bare array has no total')
  const shown = [
    ...new Set(read.filter(({ refusal }) => refusal === undefined).map(({ page }) => page.envelope.totalCount)),
  ]
  const cure =
    'Report it to the owner of the service. Tidemark proves its reads without this total, with more requests.'
  if (shown.length > 1)
    return warn(
      'totals',
      `pages showed different totals: ${shown.join(', ')}`,
      `Repeat it while no row changes. ${cure}`,
    )
  const [total] = shown
  if (total === undefined)
    return warn('totals', `no answer has a number in ${pages.report.pages.total}`, 'Look at pages.total.')
  const rows = read.reduce((sum, { page }) => sum + page.rowCount, 0)
  if (!isWhole || isIgnored)
    return skip('totals', `each page shows ${grouped(total)}; too many pages to count all rows`)
  return rows === total
    ? ok('totals', `the total is true: ${counted(rows, 'row')}`)
    : warn('totals', `the total is ${grouped(total)}, but ${counted(rows, 'row')} were returned`, cure)
}

async function order({ pages, question, first }: Survey): Promise<Finding> {
  const again = await pages.read(question, 1)
  if (again.page.keys.join() === first.page.keys.join())
    return ok('order', 'two reads of the first page had the same rows in the same order')
  return warn(
    'order',
    'two reads of the first page had other rows or another order',
    'If no row changed meanwhile: ask the owner of the service to sort by the key.',
  )
}

async function keys({ read, isIgnored }: Survey): Promise<Finding> {
  const all = read.flatMap(({ page }) => page.keys)
  const doubled = all.filter((key, index) => all.indexOf(key) < index)
  const keyless = read.flatMap(({ page }) => page.rejected).length
  if (keyless > 0)
    return warn(
      'keys',
      `${counted(keyless, 'row')} would be rejected, for example without a key`,
      'Look at key in the declaration.',
    )
  if (doubled.length === 0 || isIgnored) return ok('keys', `${counted(all.length, 'row')}, each with a key of its own`)
  return warn(
    'keys',
    `${counted(doubled.length, 'key')} came more than once, such as ${doubled[0]}`,
    'If no row changed meanwhile: look at key in the declaration.',
  )
}

const stampsIn = ({ pages, read }: Survey): Instant[][] =>
  read.flatMap(({ page }) => stampsOf(pages.report, page)).map((row) => row.filter((stamp) => stamp !== undefined))

async function window(survey: Survey): Promise<Finding> {
  const { pages, question } = survey
  const stamps = stampsIn(survey)
    .flat()
    .toSorted((a, b) => a - b)
  const since = stamps[Math.floor(stamps.length / 2)]
  if (since === undefined)
    return skip('window', 'the rows have no modification time, so it cannot be compared with a window')
  const until = latest(...stamps)
  const { page } = await pages.read({ ...question, window: { since, until } }, 1)
  const outside = stampsOf(pages.report, page).filter(
    (row) => !row.some((at) => at !== undefined && at >= since && at <= until),
  )
  if (outside.length === 0)
    return ok('window', `${counted(page.rowCount, 'row')} of a window have their times inside it`)
  return warn(
    'window',
    `${counted(outside.length, 'row')} of ${grouped(page.rowCount)} have no time of newerBy inside the requested window`,
    'Look at window and newerBy in the declaration.',
  )
}

async function stamps(survey: Survey): Promise<Finding> {
  const { context, isWhole } = survey
  const all = stampsIn(survey).flat()
  if (all.length === 0) return skip('modification times', 'no row has one')
  const newest = latest(...all)
  const now = context.client.serviceNow() ?? context.clock.now()
  const aheadMs = millisBetween(now, newest)
  if (aheadMs > SECOND_MS)
    return warn(
      'modification times',
      `the newest one is ${duration(aheadMs)} after the service's clock`,
      'Report it to the owner of the service.',
    )
  const backMs = await backdated(survey)
  if (backMs !== undefined)
    return warn(
      'modification times',
      `a row that changed after it was read has a time ${duration(backMs)} before that read`,
      'Set overlap to more than this, and report it to the owner of the service.',
    )
  const scope = isWhole ? 'of all rows' : 'of the rows that were read'
  return ok(
    'modification times',
    `the newest one ${scope} is ${timeText(newest)}, ${duration(-aheadMs)} before the service's clock. If a row was edited since, its time did not move`,
  )
}

function deletions(report: ReportName): Finding {
  const { deletes, deletedFlag, includeDeleted } = reportOf(report)
  const how = {
    flag: `by the field ${deletedFlag}`,
    diff: `by two reads, with and without ${includeDeleted}`,
    absence: 'by two reconciles that do not find the row',
    none: 'not at all',
  }
  return ok('deletions', `seen ${how[deletes]}, as declared; only a deletion can show whether it is true`)
}

/** Returns how long (ms) the new time of a changed row is before the first read of it. Undefined: no row changed so. */
async function backdated({ context, pages, question, read }: Survey): Promise<number | undefined> {
  const { settleMs } = context.config.reports[pages.report.name as ReportName]
  const again = new Map<RowKey, Instant>()
  // An edited row can move to any page, so all pages are read again.
  for (const { number } of read)
    for (const [key, at] of newestOf(pages, await pages.readLaterPage(question, number))) again.set(key, at)
  const backMs = read.flatMap((fetched) =>
    [...newestOf(pages, fetched)].flatMap(([key, before]) => {
      const at = again.get(key)
      return at === undefined || at === before ? [] : [millisBetween(at, fetched.servedAt)]
    }),
  )
  const longest = Math.max(0, ...backMs)
  return longest > settleMs ? longest : undefined
}

/** Returns the newest modification time of each row that has one. */
function newestOf(pages: PageSource, { page }: FetchedPage): Map<RowKey, Instant> {
  const rejected = new Set(page.rejected.map(({ key }) => key))
  const keys = page.keys.filter((key) => !rejected.has(key))
  const rows = stampsOf(pages.report, page).map((row) => row.filter((stamp) => stamp !== undefined))
  return new Map(keys.flatMap((key, at) => (rows[at]?.length ? [[key, latest(...rows[at])] as const] : [])))
}
