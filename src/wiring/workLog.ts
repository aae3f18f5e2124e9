/** Logs each walk, request, load and publication at debug level. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../clock.ts'
import { SyncError } from '../errors.ts'
import type { Log, LogLevel } from '../log.ts'
import { type Facts, measure, type Observe } from '../observe.ts'

const LEVELS: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'silent']
const LOG_LEVEL = 'TIDEMARK_LOG_LEVEL'

/** Returns TIDEMARK_LOG_LEVEL, or `otherwise` if it is not set. Throws CONFIG_INVALID for an unknown level. */
export function logLevelOf(env: NodeJS.ProcessEnv, otherwise: LogLevel): LogLevel {
  const given = env[LOG_LEVEL]?.trim()
  if (given === undefined || given === '') return otherwise
  const level = LEVELS.find((each) => each === given)
  if (level !== undefined) return level
  const cure = `Set ${LOG_LEVEL} to one of them, or unset it.`
  throw new SyncError('CONFIG_INVALID', `${LOG_LEVEL} must be one of ${LEVELS.join(', ')}`, { cure })
}

export function loggingWork(log: Log, clock: Pick<Clock, 'monotonicMs'>): Observe {
  const runs = new AsyncLocalStorage<string>()
  const watched: Observe = (subject, work) => {
    const { what, report } = subject
    const end = (facts: Facts, ms: number, code?: string) => {
      const { run_id: _, ...shown } = facts
      const fields = { what, report, runId: runs.getStore(), ...shown, ...(code && { code }), ms: Math.round(ms) }
      const details = Object.entries({ ...shown, code }).flatMap(([name, value]) =>
        value === undefined ? [] : `${name} ${value}`,
      )
      const title = report === undefined ? what : `${report} ${what}`
      log.debug(fields, `${title}: ${[...details, `${fields.ms} ms`].join(', ')}`)
    }
    return measure(subject, work, { clock, end })
  }
  return (subject, work) => {
    const runId = subject.facts?.['run_id']
    return typeof runId === 'string' ? runs.run(runId, () => watched(subject, work)) : watched(subject, work)
  }
}
