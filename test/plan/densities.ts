/** Rows as services have them: spread evenly, by chance, ever denser, in bursts and heaps; in some order. Seeded. */
import type { Instant } from '../../src/instant.ts'

/** A row's stamps, the one that services sort by first. */
export type StampedRow = readonly [Instant, Instant]
type Chance = () => number

/** Where row `n` of `count` stands, as shares of the whole: one stamp, or two. */
type Density = (n: number, count: number, chance: Chance) => number | readonly [number, number]

/** When a row that was created at that share of the time was last edited. */
const edited = (created: number, chance: Chance): number =>
  chance() < 0.7 ? created + (1 - created) * chance() : created

export const densities = {
  even: (n, count) => (n + 0.5) / count,
  byChance: (_, __, chance) => chance(),
  growing: (_, __, chance) => Math.sqrt(chance()),
  /** As histories of edits are: ever denser towards the present. */
  edited: (n, count, chance) => edited((n + chance()) / count, chance),
  /** The same, and some rows have a second, later stamp (events). */
  twoStamps: (n, count, chance) => {
    const own = edited((n + chance()) / count, chance)
    return [chance() < 0.4 ? own + (1 - own) * chance() : own, own]
  },
  heap: (n, count, chance) => (n < count / 10 ? 0.6 : chance()),
  bursts: (n, _, chance) => {
    const [kind, at] = [chance(), chance()]
    return kind < 0.5 ? at : ((n % 8) + 0.5) / 8 + at / 1_000
  },
} satisfies Record<string, Density>

export const orders = ['ascending', 'descending', 'none'] as const
export type Order = (typeof orders)[number]

export function aChance(seed: number): Chance {
  let state = seed * 7_919 + 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

export interface RowsWanted {
  readonly density: keyof typeof densities
  readonly count: number
  readonly length: number
  readonly order: Order
  readonly seed: number
}

export function rowsOf({ density, count, length, order, seed }: RowsWanted): StampedRow[] {
  const chance = aChance(seed)
  const rows = Array.from({ length: count }, (_, n): StampedRow => {
    const at = densities[density](n, count, chance)
    const [first, second] = typeof at === 'number' ? [at, at] : at
    return [Math.floor(first * length) as Instant, Math.floor(second * length) as Instant]
  })
  const sign = order === 'descending' ? -1 : 1
  const placed = rows.map((row): [number, StampedRow] => [order === 'none' ? chance() : sign * row[0], row])
  return placed.sort(([a], [b]) => a - b).map(([, row]) => row)
}
