/** Finds the receivers that have not accepted their messages. */
import { z } from 'zod'
import { readMemory } from '../../jobs/notify/memory.ts'
import type { Config } from '../config/config.ts'
import { time } from './coverage.ts'

export const ReceiverBehind = z.object({ receiver: z.string(), since: time, why: z.string(), cure: z.string() })
export type ReceiverBehind = z.infer<typeof ReceiverBehind>

export async function receiversBehind({ warehouse, notify }: Config): Promise<ReceiverBehind[]> {
  if (notify === undefined) return []
  const { receivers } = await readMemory(warehouse)
  return notify.receivers.flatMap(({ name: receiver }) => {
    const { failing, waiting = [] } = receivers[receiver] ?? {}
    if (failing === undefined) return []
    const { since, tries, why: reason } = failing
    const why = `behind since ${since.slice(0, 19)}Z: ${reason} (tries: ${tries}, waiting messages: ${waiting.length})`
    const cure = `Check this receiver and the setting ${receiver}. Messages wait and are sent again by themselves.`
    return [{ receiver, since, why, cure }]
  })
}
