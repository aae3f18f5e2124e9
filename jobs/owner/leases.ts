/**
 * Who works on what in this process: one holder for each kind of each report. The queue lets one job of them run at a
 * time, but a job that lost its lock, or an emptied store, can bring a second one while the first still works; it calls
 * the first one off and begins when that has ended.
 */

export interface LeaseAsk {
  /** `incremental events` */
  readonly name: string
  /** What the holder is. One of the same kind is a leftover and is called off; another one is waited for. */
  readonly as: string
  readonly signal: AbortSignal
  /** Tells the holder that it was overtaken. */
  readonly callOff: () => void
}

interface Held {
  readonly as: string
  readonly callOff: () => void
  readonly ended: Promise<void>
}

export class Leases {
  readonly #held = new Map<string, Held>()

  /** Waits for the lease, works under it and gives it back. */
  async hold<T>({ name, as, signal, callOff }: LeaseAsk, work: () => Promise<T>): Promise<T> {
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
