/** The file of a soak of a year: one line of comma-separated values for each sample. */
import type { YearRow } from './year.ts'

export const headOf = ({ sample }: YearRow): string => `${['tick', ...Object.keys(sample)].join(',')}\n`

export const lineOf = ({ tick, sample }: YearRow): string => `${[tick, ...Object.values(sample)].join(',')}\n`

export function samplesOf(text: string): YearRow[] {
  const [head = '', ...lines] = text.trim().split('\n')
  const [, ...names] = head.split(',')
  return lines.map((line) => {
    const [tick = 0, ...values] = line.split(',').map(Number)
    return { tick, sample: Object.fromEntries(names.map((name, place) => [name, values[place] ?? 0])) }
  })
}
