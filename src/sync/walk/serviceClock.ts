/**
 * The service's clock (product contract §5.5), known from the Date header of its answers. Before the first answer it is
 * asked for with the smallest question that the report has: one second, since a service may refuse a window that ends
 * where it begins, one row, nothing expanded.
 */
import type { ReportName } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import { type Instant, plusMs } from '../../instant.ts'
import { bodyOf, pathOf, type Question } from '../../plan/question.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import type { WalkContext } from '../context.ts'

/** A lower bound of the service's clock now. Errors: those of the client. */
export async function serviceClock(
  context: WalkContext,
  report: Declaration,
  subject: Pick<Question, 'record' | 'currency'>,
): Promise<Instant> {
  const known = context.client.serviceNow()
  if (known !== undefined) return known
  const { start, filters } = context.settings.reports[report.name as ReportName]
  const question = { ...subject, window: { since: start, until: plusMs(start, CLOCK_GRAIN_MS) }, filters, expand: [] }
  const answer = await context.client.read(
    {
      report: report.name,
      path: pathOf(report, question),
      body: bodyOf(report, question, { number: 1, size: 1 }),
      scope: report.scope,
      forbids: report.perRecord === undefined ? 'report' : 'request',
      parse: () => undefined,
    },
    context.signal,
  )
  return context.client.serviceNow() ?? answer.servedAt
}
