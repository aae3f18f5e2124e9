/** Reads which receivers have not accepted their messages, for `tidemark status`, `tidemark check` and the console. */
import { z } from 'zod'
import { readMemory } from '../../jobs/notify/memory.ts'
import type { Config } from '../config/config.ts'
import { time } from './coverage.ts'

export const ReceiverBehind = z.object({
  receiver: z.string(),
  since: time,
  tries: z.int(),
  waiting: z.int().describe('Messages that wait. A later change of a report adds no second message for it'),
  why: z.string(),
  cure: z.string(),
})
export type ReceiverBehind = z.infer<typeof ReceiverBehind>

/** Returns the receivers that did not accept the last message. */
export async function receiversBehind({ warehouse, notify }: Config): Promise<ReceiverBehind[]> {
  if (notify === undefined) return []
  const { receivers } = await readMemory(warehouse)
  return notify.receivers.flatMap(({ name: receiver }) => {
    const { failing, waiting = [] } = receivers[receiver] ?? {}
    const cure = `Check this receiver and the setting ${receiver}. Messages wait and are sent again by themselves.`
    return failing === undefined ? [] : [{ receiver, ...failing, waiting: waiting.length, cure }]
  })
}

/** Example: `notify.data.pipeline is behind since 2026-01-31T06:00:00Z: … status 503; 14 tries, 1 waiting`. */
export const behindText = ({ receiver, since, tries, waiting, why }: ReceiverBehind): string =>
  `${receiver} is behind since ${since.slice(0, 19)}Z: ${why}; ${tries} tries, ${waiting} waiting`
