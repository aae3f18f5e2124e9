/** The hook for metrics, traces and debug logs. Each run, walk, request and load goes through an `Observe` function. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from './clock.ts'
import { asSyncError } from './errors.ts'

/** The kind of the current run. Metrics count requests by this kind. */
export const runKind = new AsyncLocalStorage<string>()

export type WorkKind = 'run' | 'walk' | 'page' | 'request' | 'token' | 'load' | 'publish'

/** Metrics and traces show these values, so they must contain no rows, bodies or secrets. */
export type Facts = Readonly<Record<string, string | number | boolean | undefined>>

export interface Subject {
  readonly what: WorkKind
  readonly report?: string | undefined
  readonly facts?: Facts | undefined
}

export type Note = (facts: Facts) => void

export type Observe = <T>(subject: Subject, work: (note: Note) => Promise<T>) => Promise<T>

export async function measure<T>(
  { facts: known = {} }: Subject,
  work: (note: Note) => Promise<T>,
  { clock, end }: { clock: Pick<Clock, 'monotonicMs'>; end: (facts: Facts, ms: number, code?: string) => void },
): Promise<T> {
  const startedMs = clock.monotonicMs()
  let facts: Facts = known
  const ended = (code?: string) => end(facts, clock.monotonicMs() - startedMs, code)
  try {
    const result = await work((more) => {
      facts = { ...facts, ...more }
    })
    ended()
    return result
  } catch (error) {
    ended(asSyncError(error).code)
    throw error
  }
}

export const unobserved: Observe = (_, work) => work(() => undefined)

/** Combines observers. The first one is the outermost. */
export const observedBy = (...observers: readonly Observe[]): Observe =>
  observers.length === 0 ? unobserved : observers.reduceRight(around)

const around =
  (inner: Observe, outer: Observe): Observe =>
  (subject, work) =>
    outer(subject, (tellOuter) =>
      inner(subject, (tellInner) =>
        work((facts) => {
          tellOuter(facts)
          tellInner(facts)
        }),
      ),
    )
