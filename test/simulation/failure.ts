/** What a person needs of a seed that failed: what broke, what went wrong before, and how to see it again. */
import type { SeedResult } from './simulate.ts'

const SHOWN = 12

export function failureText({ seed, scenario, broken, history }: SeedResult): string {
  const { faults, runs, ...drawn } = scenario
  const more = broken.length > SHOWN ? [`  … and ${broken.length - SHOWN} more`] : []
  return [
    `seed ${seed} failed:`,
    ...broken.slice(0, SHOWN).map((what) => `  ${what}`),
    ...more,
    `faults: ${[...faults].join(', ') || 'none'}`,
    `drawn: ${JSON.stringify(drawn)}`,
    ...runs.map((run, number) => `run ${number + 1}: ${JSON.stringify(run)}`),
    'what happened last:',
    ...history.map((line) => `  ${line}`),
    `again: npm run simulate -- --seed ${seed}`,
  ].join('\n')
}
