/** Computes medians and quantiles of repeated runs, and formats figures. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Returns, for the share 0.99, the 99th percentile. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

export function medians<T extends Record<string, number>>(rounds: readonly T[]): T {
  const [first] = rounds
  const names = Object.keys(first ?? {})
  return Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name] ?? Number.NaN))])) as T
}

export const formatted = (value: number, digits = 2): string => (Number.isFinite(value) ? value.toFixed(digits) : '–')

export interface Line {
  readonly what: string
  readonly measured: string
  /** Example: `≤ 1.5`. */
  readonly goal: string
  readonly isMet: boolean | undefined
  readonly detail: string
}

export interface Options {
  readonly rows: number
  readonly rounds: number
}

export interface Suite {
  readonly name: string
  readonly about: string
  run(options: Options): Promise<Line[]>
}
