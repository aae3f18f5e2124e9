/** Prevents two runs of the same job at once. The queue starts a job again if its lock was lost. */

export interface RunLease {
  readonly name: string
  /** A run cancels an older run with the same key, and waits for an older run with another key. */
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
