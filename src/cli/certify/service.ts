/** Examines how a service pages a report and how it sets modification times. */
import type { ReportName } from '../../../schema/index.ts'
import { advisedOverlap } from '../../units.ts'
import { SyncError } from '../../errors.ts'
import { type Instant, latest, millisBetween, MINUTE_MS, SECOND_MS } from '../../instant.ts'
import type { Question } from '../../plan/question.ts'
import { WALK_POLICIES } from '../../plan/slice.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import type { FetchedPage, PageSource } from '../../sync/walk/pageSource.ts'
import { probeFirstNumber } from '../../sync/walk/probes/firstNumber.ts'
import { stampsOf } from '../../sync/walk/stampsOf.ts'
import type { Finding } from '../check/finding.ts'
import { type CheckContext, clampOf, pagesOf, questionOf, repeatsPages } from '../check/service.ts'
import { counted, duration, grouped, timeText } from '../layout.ts'

/** The most requests that `certify` sends for a report. The limit is small, because people may use this service. */
export const REQUESTS_MAX = 60
/** The most pages that one check reads. The rest of the `REQUESTS_MAX` requests is for the other checks. */
const PAGES_IN_ORDER_MAX = 20
/** If edits appear late by at most this, the advice is a longer `settle`. Otherwise, it is a longer `overlap`. */
const LAG_MS_MAX = 30 * MINUTE_MS

type Survey = Awaited<ReturnType<typeof surveyOf>>
/** The finding for a question. Undefined if the question does not apply to the report. */
type Answer = Omit<Finding, 'check'> | undefined

const ok = (found: string): Answer => ({ verdict: 'ok', found })
const skip = (found: string): Answer => ({ verdict: 'skip', found })
const warn = (found: string, cure: string): Answer => ({ verdict: 'warn', found, cure })

/** Returns a finding for each question that applies to the report. */
export async function examine(given: CheckContext, report: ReportName): Promise<Finding[]> {
  const limits = { ...given.config.limits, walkPagesMax: REQUESTS_MAX }
  const context = { ...given, config: { ...given.config, limits } }
  const survey = await surveyOf(context, report)
  const found = await Array.fromAsync(Object.entries(QUESTIONS), async ([check, ask]) => {
    const answer = await Promise.try(ask, survey).catch((thrown: unknown) => {
      context.signal.throwIfAborted()
      if (!(thrown instanceof SyncError)) throw thrown
      const isOver = thrown.code === 'WALK_TOO_LONG'
      return skip(isOver ? `the limit of ${REQUESTS_MAX} requests was reached` : thrown.message)
    })
    return answer && { check, ...answer }
  })
  return found.filter((each) => each !== undefined)
}

async function surveyOf(context: CheckContext, report: ReportName) {
  const catalog = new ObjectCatalog()
  const pages = pagesOf(context, report, catalog)
  const question = questionOf(pages.report, context)
  const first = await firstPage(context, pages, question)
  const clamp = await clampOf(pages, question, first.page)
  const isIgnored = first.page.rowCount > 1 && (await repeatsPages(pages, question))
  // An empty last page means that all pages were read.
  const read = [first]
  const isPaged = () => !isIgnored && read.length < PAGES_IN_ORDER_MAX && (read.at(-1)?.page.rowCount ?? 0) > 0
  while (isPaged()) read.push(await pages.readLaterPage(question, read.length + 1))
  return { pages, catalog, question, context, clamp, isIgnored, read, isWhole: read.at(-1)?.page.rowCount === 0 }
}

async function firstPage(context: CheckContext, pages: PageSource, question: Question): Promise<FetchedPage> {
  const first = await pages.readFirst(question)
  const { answer, name } = pages.report
  const { start, pageSize } = context.config.reports[name as ReportName]
  const now = context.client.serviceNow() ?? context.clock.now()
  const settings = { answer, keyed: pages.keyed, pageSize, youngFrom: now, start, ...context.config.limits }
  const source = {
    pages,
    question,
    timeFilter: 'window',
    policy: WALK_POLICIES.changes,
    settings,
    concurrency: 1,
  } as const
  const number = await probeFirstNumber(source, question.window && { ...question.window, until: now }, first)
  pages.profile = { ...pages.profile, firstNumber: number ?? pages.profile.firstNumber }
  return number === 0 && first.requestedNumber !== 0 ? pages.read(question, 1) : first
}

const NO_TOTAL =
  'Report it to the owner of the service. Tidemark proves its reads without this total, with more requests.'

const QUESTIONS: Readonly<Record<string, (survey: Survey) => Answer | Promise<Answer>>> = {
  'first page': ({ pages: { profile } }) =>
    profile.firstNumber === undefined
      ? skip('there are too few rows to see whether pages are counted from 0 or from 1')
      : ok(`pages are counted from ${profile.firstNumber}`),
  'page size': ({ pages: { pageSize }, clamp }) =>
    clamp === undefined
      ? ok(`${counted(pageSize, 'row')} requested, and no shorter limit was seen; page_size: ${pageSize}`)
      : warn(`${counted(pageSize, 'row')} requested, ${grouped(clamp)} returned`, `Set page_size: ${clamp}.`),
  'page numbers': ({ isIgnored }) => {
    const cure = 'Set a larger page_size, and report it to the owner of the service.'
    if (isIgnored) return warn('every page is the first one again: the service ignores the page number', cure)
    return ok('pages follow each other')
  },
  'after the last page': ({ isIgnored, read, isWhole }) => {
    if (isIgnored) return skip('page numbers are ignored')
    if (!isWhole) return skip(`it has more than ${PAGES_IN_ORDER_MAX} pages`)
    const { refusal } = read.at(-1) ?? {}
    const behind = refusal === undefined ? 'an empty page' : `a refusal (${refusal.code})`
    return ok(`${behind} follows page ${read.length - 1}`)
  },
  totals: ({ pages: { report }, read, isWhole, isIgnored }) => {
    if (report.answer === 'array') return skip('a bare array has no total')
    const answered = read.filter(({ refusal }) => refusal === undefined)
    const [total, ...others] = new Set(answered.map(({ page }) => page.envelope.totalCount))
    const shown = `pages showed different totals: ${[total, ...others].join(', ')}`
    if (others.length > 0) return warn(shown, `Repeat it while no row changes. ${NO_TOTAL}`)
    if (total === undefined) return warn(`no answer has a number in ${report.pages.total}`, 'Look at pages.total.')
    if (!isWhole || isIgnored) return skip(`each page shows ${grouped(total)}; too many pages to count all rows`)
    const rows = read.reduce((sum, { page }) => sum + page.rowCount, 0)
    if (rows === total) return ok(`the total is true: ${counted(rows, 'row')}`)
    return warn(`the total is ${grouped(total)}, but the pages have ${counted(rows, 'row')}`, NO_TOTAL)
  },
  order: async ({ pages, question, read: [first] }) => {
    const again = await pages.read(question, 1)
    if (again.page.keys.join() === first?.page.keys.join())
      return ok('two reads of the first page had the same rows in the same order')
    const cure = 'If no row changed meanwhile: ask the owner of the service to sort by the key.'
    return warn('two reads of the first page had other rows or another order', cure)
  },
  keys: ({ read, isIgnored }) => {
    const all = read.flatMap(({ page }) => page.keys)
    const doubled = all.filter((key, index) => all.indexOf(key) < index)
    const rejected = read.flatMap(({ page }) => page.rejected).length
    if (rejected > 0)
      return warn(
        `${counted(rejected, 'row')} would be rejected, for example without a key`,
        'Look at key in the declaration.',
      )
    if (doubled.length === 0 || isIgnored) return ok(`${counted(all.length, 'row')}, each with a key of its own`)
    const found = `${counted(doubled.length, 'key')} came more than once, such as ${doubled[0]}`
    return warn(found, 'If no row changed meanwhile: look at key in the declaration.')
  },
  window: async (survey) => {
    const { pages, question } = survey
    const stamps = allTimes(survey)
    const since = stamps.toSorted((a, b) => a - b)[Math.floor(stamps.length / 2)]
    if (since === undefined) return skip('the rows have no modification time, so it cannot be compared with a window')
    const until = latest(...stamps)
    const rows = timesOf(pages, await pages.read({ ...question, window: { since, until } }, 1))
    const outside = rows.filter(([, times]) => !times.some((at) => at >= since && at <= until))
    if (outside.length === 0) return ok(`${counted(rows.length, 'row')} of a window have their times inside it`)
    return warn(
      `${grouped(outside.length)} of ${counted(rows.length, 'row')} without a time of newerBy inside the requested window`,
      'Look at window and newerBy in the declaration.',
    )
  },
  'modification times': (survey) => {
    const { context, isWhole } = survey
    const all = allTimes(survey)
    if (all.length === 0) return skip('no row has one')
    const newest = latest(...all)
    const aheadMs = millisBetween(context.client.serviceNow() ?? context.clock.now(), newest)
    const late = `the newest one is ${duration(aheadMs)} after the service's clock`
    if (aheadMs > SECOND_MS) return warn(late, 'Report it to the owner of the service.')
    const scope = isWhole ? 'of all rows' : 'of the rows that were read'
    const age = `${timeText(newest)}, ${duration(-aheadMs)} before the service's clock`
    return ok(`the newest one ${scope} is ${age}. If a row was edited since, its time did not move`)
  },
  delay: async (survey) => {
    const { settleMs } = survey.context.config.reports[survey.pages.report.name as ReportName]
    if (allTimes(survey).length === 0) return skip('the rows have no modification time')
    const hiddenMs = await hiddenTimes(survey)
    if (hiddenMs.length === 0) return skip('no row was edited between two reads, so settle could not be tried')
    const longestMs = Math.max(...hiddenMs)
    const edits = counted(hiddenMs.length, 'edit')
    if (longestMs <= settleMs) return ok(`none of ${edits} was hidden longer than settle (${duration(settleMs)})`)
    const found = `of ${edits}, one was hidden for at least ${duration(longestMs)}: a read after its time did not show it`
    const advised = advisedOverlap(longestMs, 0)
    return longestMs > LAG_MS_MAX || Math.min(...hiddenMs) <= settleMs
      ? warn(found, `Set overlap to more than this, such as ${advised}, and report it to the owner of the service.`)
      : warn(found, `Every edit is late, so the whole service lags: set settle to ${advised}.`)
  },
  expand: async ({ pages, catalog, question, context: { config }, read: [first] }) => {
    const { expand: flags } = config.reports[pages.report.name as ReportName]
    if (flags.length === 0) return undefined
    // Rows with collections are longer, so the service may return fewer of them per page.
    const { page } = await pages.read({ ...question, expand: flags }, 1)
    const asked = `with ${counted(flags.length, 'flag')} of expand`
    if (page.rowCount < (first?.page.rowCount ?? 0))
      return warn(`a page ${asked} has only ${counted(page.rowCount, 'row')}`, `Set page_size: ${page.rowCount}.`)
    const fields = flags
      .map((flag) => pages.report.expand[flag])
      .flatMap((each) => (each instanceof Object ? each : []))
    const missing = fields.filter(({ field }) => !catalog.fields.some(({ name }) => name === field))
    if (missing.length === 0) return ok(`rows ${asked} have the field of each collection`)
    const names = missing.map(({ field }) => field).join(', ')
    return warn(`rows ${asked} lack ${names}`, 'Look at expand in the declaration.')
  },
  currencies: async ({ pages, question, context: { config }, read: [first] }) => {
    const [, ...others] = config.currencies
    const rows = first?.page.rowCount ?? 0
    if (pages.report.currency === undefined || others.length === 0) return undefined
    for (const currency of others) {
      const { page } = await pages.read({ ...question, currency }, 1)
      const cure = 'If no row changed meanwhile: ask the owner of the service which currencies it knows.'
      const found = `the first page has ${counted(page.rowCount, 'row')} in ${currency}, ${rows} in ${question.currency}`
      if (page.rowCount !== rows) return warn(found, cure)
    }
    return ok(`the first page has ${counted(rows, 'row')} in each of ${config.currencies.join(', ')}`)
  },
  deletions: ({ pages: { report } }) => {
    const how = {
      flag: `by the field ${report.deletedFlag}`,
      diff: `by two reads, with and without ${report.includeDeleted}`,
      absence: 'by two reconciles that do not find the row',
      none: 'not at all',
    }
    return ok(`seen ${how[report.deletes]}, as declared; only a deletion can show whether it is true`)
  },
}

/** Reads all pages again and returns how long the service hid each edit that the first read missed, in milliseconds. */
async function hiddenTimes({ pages, question, read }: Survey): Promise<readonly number[]> {
  // Reads all pages, because an edited row can move to another page.
  const reread = await Array.fromAsync(read, ({ number }) => pages.readLaterPage(question, number))
  const again = new Map(reread.flatMap((each) => timesOf(pages, each)))
  return read.flatMap((each) =>
    timesOf(pages, each).flatMap(([key, before]) => {
      const times = again.get(key) ?? []
      const at = times.length === 0 ? before[0] : latest(...times)
      return at === undefined || before.includes(at) ? [] : [millisBetween(at, each.servedAt)]
    }),
  )
}

const allTimes = ({ pages, read }: Survey): readonly Instant[] =>
  read.flatMap((each) => timesOf(pages, each).flatMap(([, times]) => times))

function timesOf({ report }: PageSource, { page }: FetchedPage) {
  const rejected = new Set(page.rejected.map(({ key }) => key))
  const rows = stampsOf(report, page).map((row) => row.filter((stamp) => stamp !== undefined))
  return page.keys.filter((key) => !rejected.has(key)).map((key, at) => [key, rows[at] ?? []] as const)
}
