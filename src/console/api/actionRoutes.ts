/** Routes for actions such as sync and pause. An action can take hours, so the page polls for its result. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { Report, type ReportName } from '../../../schema/index.ts'
import { type Clock, within } from '../../clock.ts'
import { asSyncError, usageError } from '../../errors.ts'
import { formatInstant, type Instant, parseInstant } from '../../instant.ts'
import type { Log } from '../../log.ts'
import { type AnswerOf, errorFrom, type OperationRequest } from '../../operations/contract.ts'
import type { ConsoleBackend } from '../backend.ts'
import { outcomesOf, problemOf } from '../outcomes.ts'
import { type Api, answers } from './api.ts'
import { Errand, Plan } from './schemas.ts'

const REPORTS_MAX = 1_000
const unique = (names: readonly ReportName[]) => [...new Set(names)]
const reports = z.array(Report).min(1).max(REPORTS_MAX).transform(unique)
const moment = z
  .string()
  .max(40)
  .refine((text) => parseInstant(text) !== undefined, 'is no time such as 2024-01-31 or 2024-01-31T08:00:00Z')
  .transform((text) => parseInstant(text) as Instant)
const Range = z.strictObject({
  report: Report,
  from: moment.optional().describe('Where the report is configured to start, when left out'),
  to: moment.optional().describe('Now, when left out'),
})

const ErrandPath = z.strictObject({ errand: z.uuid() })
const PLAN_SUMMARY = 'What a backfill would do; asks the service a few small questions and writes nothing'

const onReports = (name: 'sync' | 'pause' | 'resume' | 'reset' | 'retry-rejected' | 'dismiss-rejected') =>
  z.strictObject({ reports }).transform((body): OperationRequest => ({ do: name, ...body }))

const ACTIONS: readonly (readonly [string, string, z.ZodType<OperationRequest>])[] = [
  ['sync', 'An incremental run of each report, now', onReports('sync')],
  ['pause', 'Makes runs skip these reports', onReports('pause')],
  ['resume', 'Ends the pause of these reports', onReports('resume')],
  ['reset', 'Starts over with these reports: reads all of their rows again', onReports('reset')],
  ['rejected/retry', 'Loads rejected rows again', onReports('retry-rejected')],
  ['rejected/dismiss', 'Ends the listing of the rejected rows of these reports', onReports('dismiss-rejected')],
  [
    'reconcile',
    'Compares whole reports with the service',
    z
      .strictObject({ reports, allow_mass_delete: z.boolean().default(false) })
      .transform((body) => ({ do: 'reconcile', reports: body.reports, allowMassDelete: body.allow_mass_delete })),
  ],
  [
    'backfills',
    'Reads a range again; continues a backfill of this range that was begun before',
    Range.transform((body) => ({ do: 'backfill', backfills: [body] })),
  ],
  [
    'cancel',
    'Ends a run or a backfill',
    z.strictObject({ id: z.string().min(1).max(100) }).transform((body) => ({ do: 'cancel', ...body })),
  ],
]

export function addActionRoutes(api: Api, options: ErrandOptions): void {
  const closing = new AbortController()
  api.addHook('preClose', async () => closing.abort())
  const errands = openErrands(options, closing.signal)
  for (const [path, summary, body] of ACTIONS) {
    const response = { 200: Errand, 202: Errand }
    api.post(`/api/${path}`, { schema: { summary, body, response } }, async (asked, reply) => {
      const errand = await errands.begin(asked.body)
      if (errand.error !== null) throw errorFrom(errand.error)
      reply.code(errand.state === 'running' ? 202 : 200)
      return errand
    })
  }
  const planning = answers(Plan, PLAN_SUMMARY, { body: Range })
  api.post('/api/backfills/plan', planning, ({ body }) => planOf(options.backendOf(), body))
  const looking = answers(Errand, 'The state of an action that was begun before', { params: ErrandPath })
  api.get('/api/errands/:errand', looking, async ({ params }) => {
    const errand = errands.get(params.errand)
    if (errand !== undefined) return errand
    const cure = 'The console keeps only the newest errands. /api/runs lists all runs.'
    throw usageError('there is no such errand', cure, { status: 404 })
  })
}

async function planOf(backend: ConsoleBackend, range: z.output<typeof Range>): Promise<z.infer<typeof Plan>> {
  const asking = { by: 'console', onEvent: () => undefined, signal: new AbortController().signal }
  const answer = await backend.answer({ do: 'plan-backfill', backfills: [range] }, asking)
  if ('error' in answer) throw errorFrom(answer.error)
  const [plan] = (answer.result as AnswerOf<'plan-backfill'>).plans
  if (plan === undefined) throw asSyncError('no plan')
  const { named, windows, requests } = plan
  return {
    report: named.report,
    since: formatInstant(named.from),
    until: formatInstant(named.to),
    goes_on: named.goesOn,
    requests,
    windows: windows.map(({ number, scope, since, until, plannedRows, plannedRequests }) => ({
      number,
      scope,
      since: formatInstant(since),
      until: formatInstant(until),
      rows: plannedRows ?? null,
      requests: plannedRequests,
    })),
  }
}

const WAIT_MS_MAX = 1_000
const ERRANDS_MAX = 50

export interface ErrandOptions {
  readonly clock: Clock
  readonly log: Log
  readonly backendOf: () => ConsoleBackend
}

/** Starts errands and finds them by identifier. An errand is one action that a user requested. */
function openErrands({ clock, log, backendOf }: ErrandOptions, signal: AbortSignal) {
  const errands = new Map<string, Errand>()
  const carryOut = async (request: OperationRequest, errand: Errand): Promise<void> => {
    const onEvent = (event: object) => errand.outcomes.push(...outcomesOf(event))
    try {
      const answer = await backendOf().answer(request, { by: 'console', onEvent, signal })
      if ('error' in answer) errand.error = problemOf(answer.error)
      else if (errand.outcomes.length === 0) errand.outcomes.push(...outcomesOf(answer.result))
    } catch (thrown) {
      errand.error = problemOf(asSyncError(thrown))
    }
    const failed = errand.error !== null || errand.outcomes.some(({ error }) => error !== null)
    errand.state = failed ? 'failed' : 'done'
    const { id, what, state, error } = errand
    const ended = { errand: id, what, state, ...(error !== null && { code: error.code }) }
    log.info(ended, 'the work that the console requested has ended')
  }
  return {
    get: (id: string): Errand | undefined => errands.get(id),
    /** Starts an action and waits at most `WAIT_MS_MAX`. The returned errand contains its state, and may still run. */
    begin: async (request: OperationRequest): Promise<Errand> => {
      const [id, what, reports] = [randomUUID(), request.do, reportsOf(request)]
      const started_at = formatInstant(clock.now())
      const errand: Errand = { id, what, reports, state: 'running', started_at, outcomes: [], error: null }
      errands.set(id, errand)
      log.info({ errand: id, what, reports }, 'requested in the console')
      const [oldest] = errands.keys()
      if (errands.size > ERRANDS_MAX && oldest !== undefined) errands.delete(oldest)
      const done = carryOut(request, errand)
      await within(WAIT_MS_MAX, clock, () => done)
      return errand
    },
  }
}

function reportsOf(request: OperationRequest): string[] {
  if ('reports' in request) return [...request.reports]
  return 'backfills' in request ? request.backfills.map(({ report }) => report) : []
}
