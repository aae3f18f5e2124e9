/** A run's right to commit, taken at its start: from then on the runs of its kind and report before it are refused. */
import type { FenceAsk } from '../warehouse/books/fences.ts'
import type { Rooms } from './rooms.ts'

/** The same rooms, with a fence for this run; the one that whoever started the run has taken for it stays. */
export async function fenced(rooms: Rooms, ask: FenceAsk): Promise<Rooms> {
  const { fence, warehouse } = rooms
  if (fence !== undefined && fence.report === ask.report && fence.kind === ask.kind) return rooms
  return { ...rooms, fence: await warehouse.takeFence(ask) }
}
