/** Prevents two runs of a job at once, because the queue can start a job twice. */

export interface RunLease {
  readonly name: string
  /** A newer run with the same key replaces the older run. */
  readonly runKey: string
  readonly signal: AbortSignal
  readonly cancel: () => void
}

export class Leases {
  readonly #holders = new Map<string, Pick<RunLease, 'runKey' | 'cancel'> & { readonly ended: Promise<void> }>()

  async hold<T>({ name, runKey, signal, cancel }: RunLease, work: () => Promise<T>): Promise<T> {
    for (let holder = this.#holders.get(name); holder !== undefined; holder = this.#holders.get(name)) {
      if (holder.runKey === runKey) holder.cancel()
      await holder.ended
      signal.throwIfAborted()
    }
    const end = Promise.withResolvers<void>()
    this.#holders.set(name, { runKey, cancel, ended: end.promise })
    try {
      return await work()
    } finally {
      this.#holders.delete(name)
      end.resolve()
    }
  }
}
