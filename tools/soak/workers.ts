/** The workers of a soak: processes that are killed, frozen and restarted, and whose memory is measured. */
import { readFile } from 'node:fs/promises'
import { systemClock as clock } from '../../src/clock.ts'
import type { Running, World } from '../../test/cli/support.ts'
import type { MemorySample } from './memory.ts'

interface Worker {
  readonly running: Running
  readonly startedMs: number
  isFrozen: boolean
}

/** A log message that only the owner writes. */
const OWNS = 'this process owns the warehouse'

export class Workers {
  readonly memory: MemorySample[] = []
  readonly kills = { owner: 0, other: 0 }
  /** Warnings and errors in the logs, by message. */
  readonly trouble = new Map<string, number>()
  readonly pids: number[] = []
  readonly #world: World
  readonly #args: readonly string[]
  readonly #places: Worker[] = []
  readonly #startedMs = clock.monotonicMs()

  constructor(world: World, args: readonly string[]) {
    this.#world = world
    this.#args = args
  }

  start(): void {
    this.#places.push(this.#begin())
  }

  isOwner(place: number): boolean {
    return this.#places[place]?.running.said().includes(OWNS) === true
  }

  get owned(): boolean {
    return this.#places.some((_, place) => this.isOwner(place))
  }

  /** Returns the numbers of workers that are not frozen. */
  get awake(): number[] {
    return this.#places.flatMap(({ isFrozen }, place) => (isFrozen ? [] : [place]))
  }

  /** Kills a worker, and starts a new one at once. */
  async kill(place: number): Promise<void> {
    const worker = this.#places[place]
    if (worker === undefined) return
    this.kills[this.isOwner(place) ? 'owner' : 'other'] += 1
    worker.running.kill('SIGKILL')
    await this.#ended(worker)
    this.#places[place] = this.#begin()
  }

  async freeze(place: number, ms: number): Promise<void> {
    const worker = this.#places[place]
    if (worker === undefined) return
    worker.isFrozen = true
    worker.running.kill('SIGSTOP')
    await clock.sleep(ms)
    worker.running.kill('SIGCONT')
    worker.isFrozen = false
  }

  /** Stops all workers, and returns their exit codes. */
  async stop(): Promise<(number | null)[]> {
    for (const { running } of this.#places) running.kill('SIGTERM')
    const ends = await Promise.all(this.#places.map((worker) => this.#ended(worker)))
    this.#places.length = 0
    return ends.map(({ code }) => code)
  }

  abandon(): void {
    for (const { running } of this.#places) running.kill('SIGKILL')
  }

  async sample(): Promise<void> {
    const nowMs = clock.monotonicMs()
    for (const [place, { running, startedMs, isFrozen }] of this.#places.entries()) {
      const bytes = await residentBytes(running.pid)
      if (bytes === undefined || isFrozen) continue
      const ageSeconds = (nowMs - startedMs) / 1_000
      const role = this.isOwner(place) ? 'owner' : 'puller'
      this.memory.push({ role, pid: running.pid, atSeconds: (nowMs - this.#startedMs) / 1_000, ageSeconds, bytes })
    }
  }

  #begin(): Worker {
    const running = this.#world.start(['worker', ...this.#args], { isTied: true })
    this.pids.push(running.pid)
    return { running, startedMs: clock.monotonicMs(), isFrozen: false }
  }

  async #ended({ running }: Worker) {
    const ended = await running.ended
    for (const line of ended.stderr.split('\n')) {
      const [, level, words] = /^\{"level":(\d+).*"msg":"([^"]*)/.exec(line) ?? []
      if (Number(level) < 40 || words === undefined) continue
      const kind = words.replaceAll(/[\da-f]{8}-[\da-f-]+|\d+/g, '…').slice(0, 110)
      this.trouble.set(kind, (this.trouble.get(kind) ?? 0) + 1)
    }
    return ended
  }
}

/** Returns undefined if the system is not Linux. */
async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024
}
