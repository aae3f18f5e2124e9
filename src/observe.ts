/**
 * The port through which the work is watched: each piece of it (a run, a walk, a request, a load) is surrounded by one
 * call, which metrics and traces take up as they need. It is passed in where rooms are opened; without anybody who
 * watches, it does nothing and costs nothing.
 */

export type Watched = 'run' | 'walk' | 'request' | 'token' | 'load' | 'publish'

/** Plain values that may stand in a metric or a span: names, numbers, codes; never rows, bodies or secrets. */
export type Facts = Readonly<Record<string, string | number | boolean | undefined>>

export interface Subject {
  readonly what: Watched
  readonly report?: string | undefined
  /** Known at the beginning. */
  readonly facts?: Facts | undefined
}

/** Adds what is known only later. */
export type Note = (facts: Facts) => void

/** Does the work and gives what it gives, or throws what it throws. */
export type Observe = <T>(subject: Subject, work: (note: Note) => Promise<T>) => Promise<T>

export const unobserved: Observe = (_, work) => work(() => undefined)

/** All of them, the first outermost. */
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
