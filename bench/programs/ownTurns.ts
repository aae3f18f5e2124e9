/** Measures how long this thread's own work delays other work. Other programs do not change this figure. */
import { quantile } from '../measure.ts'

const EVERY_MS = 5

export interface OwnTurns {
  readonly p99Ms: number
  readonly maxMs: number
}

/** Returns a function that ends the measurement. */
export function watchTurns(): () => OwnTurns {
  const turns: number[] = []
  let before = usedMs()
  const timer = setInterval(() => {
    const now = usedMs()
    turns.push(now - before)
    before = now
  }, EVERY_MS)
  return () => {
    clearInterval(timer)
    return { p99Ms: quantile(turns, 0.99), maxMs: quantile(turns, 1) }
  }
}

function usedMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
