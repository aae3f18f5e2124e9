/**
 * Leases of this process: one run at a time per report and kind. After a lost lock or an emptied store, the queue may
 * begin a job again while its first attempt still works. The new attempt stops the old one and waits for its end.
 */

export interface LeaseRequest {
  /** Name of the lease: kind and report. Example: `incremental events`. */
  readonly name: string
  /**
   * Identifies the job. If the present holder has the same value, it is an earlier attempt of the same job and is
   * stopped. Otherwise the request waits until the holder has ended.
   */
  readonly as: string
  readonly signal: AbortSignal
  /** Aborts the run that has this lease. Called if a new attempt of the same job needs the lease. */
  readonly callOff: () => void
}

type LeaseHolder = Pick<LeaseRequest, 'as' | 'callOff'> & { readonly ended: Promise<void> }

export class Leases {
  readonly #held = new Map<string, LeaseHolder>()

  /** Waits until the lease is free, and does the work while holding it. */
  async hold<T>({ name, as, signal, callOff }: LeaseRequest, work: () => Promise<T>): Promise<T> {
    for (let held = this.#held.get(name); held !== undefined; held = this.#held.get(name)) {
      if (held.as === as) held.callOff()
      await held.ended
      signal.throwIfAborted()
    }
    const end = Promise.withResolvers<void>()
    this.#held.set(name, { as, callOff, ended: end.promise })
    try {
      return await work()
    } finally {
      this.#held.delete(name)
      end.resolve()
    }
  }
}
