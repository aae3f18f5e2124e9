/**
 * Seeds that once found something: they run in every test, before the others. A seed is a whole history, so each stays a
 * test of what it found as long as what a seed draws stays as it is.
 */
export interface CorpusSeed {
  readonly seed: number
  readonly found: string
}

export const CORPUS: readonly CorpusSeed[] = [
  { seed: 5_029, found: 'once broke the engine, or the simulation itself' },
  { seed: 546, found: 'trails of exactly one full page, shown again as page 2, ended as unstable' },
  { seed: 567, found: 'the same, with a single trail' },
]
