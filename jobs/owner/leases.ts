/**
 * Leases of this process: one run at a time for each report and kind. The queue already runs one job of them at a time,
 * but after a lost lock or an emptied store a second job can begin while the first still works. The second job then
 * stops the first and begins when the first has ended.
 */

export interface LeaseRequest {
  /** Kind and report. Example: `incremental events`. */
  readonly name: string
  /**
   * Identifies the job. A holder with the same value is an earlier attempt of the same job and is stopped; otherwise
   * the lease waits for the holder's end.
   */
  readonly as: string
  readonly signal: AbortSignal
  /** Aborts the run that has the lease. Called when a new attempt of the same job needs it. */
  readonly callOff: () => void
}

interface LeaseHolder {
  readonly as: string
  readonly callOff: () => void
  readonly ended: Promise<void>
}

export class Leases {
  readonly #held = new Map<string, LeaseHolder>()

  /** Waits for the lease, does the work, and releases the lease. */
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
