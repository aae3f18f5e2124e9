/** Reads the service's clock (contract §5.5) from the Date header. If there is no response yet, requests one row. */
import type { ReportName } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import { type Instant, plusMs } from '../../instant.ts'
import { bodyOf, pathOf, type Question } from '../../plan/question.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import type { WalkContext } from '../context.ts'
import { readOrElse } from './pageSource.ts'

/** Returns the service's current time or a slightly earlier time. Throws the client's errors. */
export async function serviceClock(
  context: WalkContext,
  report: Declaration,
  subject: Pick<Question, 'record' | 'currency'>,
): Promise<Instant> {
  const known = context.client.serviceNow()
  if (known !== undefined) return known
  const { start, filters } = context.settings.reports[report.name as ReportName]
  // A service may refuse a window with equal bounds.
  const question = { ...subject, window: { since: start, until: plusMs(start, CLOCK_GRAIN_MS) }, filters, expand: [] }
  const read = (number: number) =>
    context.client.read(
      {
        report: report.name,
        path: pathOf(report, question),
        body: bodyOf(report, question, { number, size: 1 }),
        scope: report.scope,
        forbids: report.perRecord === undefined ? 'report' : 'request',
        parse: () => undefined,
      },
      context.signal,
    )
  // If the service's first page has the number 0, the service may refuse page 1.
  const answer = await readOrElse(
    () => read(1),
    () => read(0),
  )
  return context.client.serviceNow() ?? answer.servedAt
}
