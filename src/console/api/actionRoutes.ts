/** Routes for actions, such as `sync`. Each route sends a request to the owner of the warehouse. */
import { z } from 'zod'
import { reportNames } from '../../../schema/index.ts'
import { asSyncError, SyncError } from '../../errors.ts'
import { formatInstant, type Instant, parseInstant } from '../../instant.ts'
import { type AnswerOf, errorFrom, type OperationRequest } from '../../operations/contract.ts'
import type { ConsoleBackend } from '../backend.ts'
import type { Errands } from '../errands.ts'
import { type Api, answers } from './api.ts'
import { Report } from '../../status/coverage.ts'
import { Errand, Plan } from './schemas.ts'

const reports = z.array(Report).min(1).max(reportNames.length)
const Reports = z.strictObject({ reports })
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

/** The path, the action and the OpenAPI summary of each action whose request contains only names of reports. */
const ON_REPORTS = [
  ['/api/sync', 'sync', 'An incremental run of each report, now'],
  ['/api/pause', 'pause', 'Makes runs skip these reports'],
  ['/api/resume', 'resume', 'Ends the pause of these reports'],
  ['/api/reset', 'reset', 'Starts over with these reports: reads all of their rows again'],
  ['/api/rejected/retry', 'retry-rejected', 'Loads rejected rows again'],
  ['/api/rejected/dismiss', 'dismiss-rejected', 'Ends the listing of the rejected rows of these reports'],
] as const

export function addActionRoutes(api: Api, backendOf: () => ConsoleBackend, errands: Errands): void {
  const add = actionAdder(api, backendOf, errands)
  for (const [path, name, summary] of ON_REPORTS)
    add(path, { summary, body: Reports, request: ({ reports }) => ({ do: name, reports }) })
  add('/api/reconcile', {
    summary: 'Compares whole reports with the service',
    body: z.strictObject({ reports, allow_mass_delete: z.boolean().default(false) }),
    request: (body) => ({ do: 'reconcile', reports: body.reports, allowMassDelete: body.allow_mass_delete }),
  })
  add('/api/backfills', {
    summary: 'Reads a range again; continues a backfill of this range that was begun before',
    body: Range,
    request: (body) => ({ do: 'backfill', backfills: [body] }),
  })
  add('/api/cancel', {
    summary: 'Ends a run or a backfill',
    body: z.strictObject({ id: z.string().min(1).max(100) }),
    request: (body) => ({ do: 'cancel', ...body }),
  })
  const planning = answers(Plan, PLAN_SUMMARY, { body: Range })
  api.post('/api/backfills/plan', planning, ({ body }) => planOf(backendOf(), body))
  const looking = answers(Errand, 'The state of an action that was begun before', { params: ErrandPath })
  api.get('/api/errands/:errand', looking, async ({ params }) => {
    const errand = errands.get(params.errand)
    if (errand !== undefined) return errand
    throw new SyncError('USAGE_INVALID', 'there is no such errand', {
      cure: 'The console keeps only the newest errands. /api/runs lists all runs.',
      data: { status: 404 },
    })
  })
}

interface Action<Body extends z.ZodType> {
  readonly summary: string
  readonly body: Body
  readonly request: (body: z.output<Body>) => OperationRequest
}

const actionAdder =
  (api: Api, backendOf: () => ConsoleBackend, errands: Errands) =>
  <Body extends z.ZodType>(path: string, { summary, body, request }: Action<Body>): void => {
    const response = { 200: Errand, 202: Errand }
    api.post(path, { schema: { summary, body, response } }, async (asked, reply) => {
      const errand = await errands.begin(backendOf(), request(asked.body as z.output<Body>))
      if (errand.error !== null) throw errorFrom(errand.error)
      reply.code(errand.state === 'running' ? 202 : 200)
      return errand
    })
  }

async function planOf(backend: ConsoleBackend, range: z.output<typeof Range>): Promise<z.infer<typeof Plan>> {
  const asking = { by: 'console', tell: () => undefined, signal: new AbortController().signal }
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
