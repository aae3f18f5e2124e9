/** Decides whether scheduled work may begin without exceeding the request budget. */
import type { ReportName } from '../../schema/index.ts'
import { budgetOf, hasBudget, hasRoom, isDue } from '../plan/requestBudget.ts'
import type { SyncContext } from './context.ts'

/** Returns false if a tick of the report must be skipped, or if a window of a backfill must wait. */
export async function mayBegin(
  { client, warehouse, clock, settings }: Pick<SyncContext, 'client' | 'warehouse' | 'clock' | 'settings'>,
  report: ReportName,
  work: 'tick' | 'window',
): Promise<boolean> {
  if (!hasBudget(settings)) return true
  const serviceNow = client.serviceNow() ?? clock.now()
  await warehouse.recordRequests(client.takeRequests(), serviceNow)
  const plan = budgetOf(await warehouse.books.requestUse(serviceNow), settings)
  return work === 'tick' ? isDue(plan, report, clock.now()) : hasRoom(plan, settings)
}
