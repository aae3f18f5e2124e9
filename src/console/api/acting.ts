/** Endpoints that act. Each hands the same request to the owner that the command of that name does. */
import { z } from 'zod'
import { type ReportName, reportNames } from '../../../schema/index.ts'
import type { ControlRequest } from '../../../jobs/control/controlRequest.ts'
import { errorFrom } from '../../../jobs/control/wire.ts'
import { asSyncError, SyncError } from '../../errors.ts'
import { formatInstant, type Instant, parseInstant } from '../../instant.ts'
import type { Planned } from '../../../jobs/control/control.ts'
import type { ConsoleBackend } from '../backend.ts'
import type { Errands } from '../errands.ts'
import { type Asked, type Endpoint, endpoint } from './endpoint.ts'
import { Errand, Plan, Report } from './shapes.ts'

const reports = z.array(Report).min(1).max(reportNames.length)
const Reports = z.strictObject({ reports })
const moment = z
  .string()
  .max(40)
  .refine((text) => parseInstant(text) !== undefined, 'is no time such as 2024-01-31 or 2024-01-31T08:00:00Z')
const Range = z.strictObject({
  report: Report,
  from: moment.optional().describe('Where the report is configured to start, when left out'),
  to: moment.optional().describe('Now, when left out'),
})

export const actingEndpoints = (errands: Errands): readonly Endpoint[] => [
  acting(errands, {
    path: '/api/sync',
    summary: 'An incremental run of each, now',
    body: Reports,
    asks: (body) => ({ do: 'sync', ...body }),
  }),
  acting(errands, {
    path: '/api/reconcile',
    summary: 'Compares whole reports with the service',
    body: z.strictObject({ reports, allow_mass_delete: z.boolean().default(false) }),
    asks: (body) => ({ do: 'reconcile', reports: body.reports, allowMassDelete: body.allow_mass_delete }),
  }),
  acting(errands, {
    path: '/api/backfills',
    summary: 'Reads a range again; one that was begun goes on',
    body: Range,
    asks: (body) => ({ do: 'backfill', backfills: [rangeOf(body)] }),
  }),
  acting(errands, {
    path: '/api/pause',
    summary: 'Lets runs skip these reports',
    body: Reports,
    asks: (body) => ({ do: 'pause', ...body }),
  }),
  acting(errands, {
    path: '/api/resume',
    summary: 'Lets these reports run again',
    body: Reports,
    asks: (body) => ({ do: 'resume', ...body }),
  }),
  acting(errands, {
    path: '/api/cancel',
    summary: 'Ends a run or a backfill',
    body: z.strictObject({ id: z.string().min(1).max(100) }),
    asks: (body) => ({ do: 'cancel', ...body }),
  }),
  acting(errands, {
    path: '/api/rejected/retry',
    summary: 'Loads rejected rows again',
    body: Reports,
    asks: (body) => ({ do: 'retry-rejected', ...body }),
  }),
  endpoint({
    method: 'POST',
    path: '/api/backfills/plan',
    summary: 'What a backfill would do; asks the service a few small questions and writes nothing',
    body: Range,
    answer: Plan,
    does: ({ backend, body }) => planned(backend, rangeOf(body)),
  }),
  endpoint({
    method: 'GET',
    path: '/api/errands/:errand',
    summary: 'What became of something that was asked for',
    params: z.strictObject({ errand: z.uuid() }),
    answer: Errand,
    does: async ({ params }) => {
      const errand = errands.get(params.errand)
      if (errand !== undefined) return errand
      throw new SyncError('USAGE_INVALID', 'nothing is known of it', {
        cure: 'Only the newest are remembered; /api/runs has all runs.',
        data: { status: 404 },
      })
    },
  }),
]

interface Acting<Body> {
  readonly path: string
  readonly summary: string
  readonly body: z.ZodType<Body>
  readonly asks: (body: Body) => ControlRequest
}

const acting = <Body>(errands: Errands, { path, summary, body, asks }: Acting<Body>): Endpoint =>
  endpoint({
    method: 'POST',
    path,
    summary,
    body,
    answer: Errand,
    does: async ({ backend, body: asked, reply }: Asked<unknown, unknown, Body>) => {
      const errand = await errands.begin(backend, asks(asked))
      if (errand.error !== null) throw errorFrom(errand.error)
      reply.code(errand.state === 'running' ? 202 : 200)
      return errand
    },
  })

interface AskedRange {
  readonly report: ReportName
  readonly from?: string | undefined
  readonly to?: string | undefined
}

const rangeOf = ({ report, from, to }: AskedRange): { report: ReportName; from?: Instant; to?: Instant } => ({
  report,
  ...(from !== undefined && { from: parseInstant(from) as Instant }),
  ...(to !== undefined && { to: parseInstant(to) as Instant }),
})

async function planned(backend: ConsoleBackend, range: ReturnType<typeof rangeOf>): Promise<z.infer<typeof Plan>> {
  const asking = { tell: () => undefined, signal: new AbortController().signal }
  const answer = await backend.answer({ do: 'plan-backfill', backfills: [range] }, asking)
  if ('error' in answer) throw errorFrom(answer.error)
  const [plan] = (answer.result as { plans: readonly Planned[] }).plans
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
