/** A run's right to commit, taken at its start: from then on the runs of its kind and report before it are refused. */
import type { FenceAsk } from '../warehouse/books/fences.ts'
import type { SyncContext } from './context.ts'

/** The same rooms, with a fence for this run; the one that whoever started the run has taken for it stays. */
export async function fenced(context: SyncContext, ask: FenceAsk): Promise<SyncContext> {
  const { fence, warehouse } = context
  if (fence !== undefined && fence.report === ask.report && fence.kind === ask.kind) return context
  return { ...context, fence: await warehouse.takeFence(ask) }
}
