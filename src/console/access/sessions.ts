/** Login sessions, which are kept in memory. Only the hash of each session's identifier is stored. */
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { HOUR_MS } from '../../instant.ts'

export const SESSION_MS_MAX = 12 * HOUR_MS
const SESSIONS_MAX = 100
const ID_BYTES = 32

export type Access = 'act' | 'look'
export type Sessions = ReturnType<typeof openSessions>

export const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()

const keyOf = (id: string): string => digestOf(id).toString('base64')

export function openSessions(clock: Pick<Clock, 'monotonicMs'>) {
  const sessions = new Map<string, { readonly endsMs: number; readonly access: Access }>()
  return {
    begin: (access: Access): string => {
      const id = randomBytes(ID_BYTES).toString('base64url')
      const [oldest] = sessions.keys()
      if (sessions.size >= SESSIONS_MAX && oldest !== undefined) sessions.delete(oldest)
      sessions.set(keyOf(id), { endsMs: clock.monotonicMs() + SESSION_MS_MAX, access })
      return id
    },
    accessOf: (id: string): Access | undefined => {
      const { endsMs = 0, access } = sessions.get(keyOf(id)) ?? {}
      return endsMs > clock.monotonicMs() ? access : undefined
    },
    end: (id: string): void => void sessions.delete(keyOf(id)),
  }
}
