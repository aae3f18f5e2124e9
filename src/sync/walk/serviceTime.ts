/** Reads the service's clock (contract §5.5). */
import type { ReportName } from '../../../schema/index.ts'
import type { Declaration } from '../../../schema/report.ts'
import { type Instant, plusMs } from '../../instant.ts'
import { UNKNOWN_PAGING } from '../../plan/pagingProfile.ts'
import type { Question } from '../../plan/question.ts'
import { CLOCK_GRAIN_MS } from '../../plan/window.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import type { WalkContext } from '../context.ts'
import { PageSource } from './pageSource.ts'

/** Returns the service's time, which each response contains. If no response was received yet, requests one row. */
export async function readServiceTime(
  context: WalkContext,
  report: Declaration,
  subject: Pick<Question, 'record' | 'currency'>,
): Promise<Instant> {
  const known = context.client.serviceNow()
  if (known !== undefined) return known
  const { start, filters } = context.settings.reports[report.name as ReportName]
  // The bounds differ, because a service may refuse a window with equal bounds.
  const question = { ...subject, window: { since: start, until: plusMs(start, CLOCK_GRAIN_MS) }, filters, expand: [] }
  const oneRow = { report, pageSize: 1, catalog: new ObjectCatalog(), profile: UNKNOWN_PAGING }
  const { servedAt } = await new PageSource(context, oneRow).readFirst(question)
  return context.client.serviceNow() ?? servedAt
}
