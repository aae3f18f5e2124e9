/** The result of a soak, and its text: one line per figure, then every broken promise. */
import type { MemoryFigures } from './memory.ts'

export interface SoakEnded {
  readonly seconds: number
  readonly changes: number
  readonly kills: { readonly owner: number; readonly other: number }
  readonly frozen: string
  readonly requests: number
  readonly walks: number
  readonly runs: Readonly<Record<string, number>>
  readonly windowsBackfilled: number
  readonly rows: number
  readonly tokenCalls: number
  readonly tokenCallsInAMinute: number
  readonly tokenBudget: number
  readonly marksSeen: number
  readonly memory: readonly MemoryFigures[]
  readonly trouble: readonly (readonly [string, number])[]
  /** Empty if all promises were kept. */
  readonly broken: readonly string[]
}

const BROKEN_SHOWN = 40

export function summaryText(ended: SoakEnded): string {
  const { kills, memory, broken, runs } = ended
  const lines: [string, string][] = [
    ['time', `${Math.round(ended.seconds)} s under load`],
    ['changes of the service', String(ended.changes)],
    ['kill -9', `${kills.owner + kills.other}, ${kills.owner} of them of the owner`],
    ['frozen', ended.frozen],
    ['requests of the service', `${ended.requests}; ${ended.walks} incremental walks under load`],
    [
      'runs in the books',
      Object.entries(runs)
        .map(([kind, n]) => `${n} ${kind}`)
        .join(', '),
    ],
    ['windows backfilled', String(ended.windowsBackfilled)],
    ['rows compared', String(ended.rows)],
    ['marks sampled', String(ended.marksSeen)],
    ['token calls', `${ended.tokenCalls} of ${ended.tokenBudget}, ${ended.tokenCallsInAMinute} in a minute at most`],
    ...memory.map(({ role, samples, medianMb, maxMb, mbPerMinute }): [string, string] => [
      `memory of ${role}s`,
      `median ${medianMb.toFixed(0)} MB, most ${maxMb.toFixed(0)} MB, ${mbPerMinute.toFixed(1)} MB a minute (${samples} samples)`,
    ]),
    ...ended.trouble.map(([words, times]): [string, string] => ['logged', `${times} × ${words}`]),
    ['result', broken.length === 0 ? 'every promise held' : `${broken.length} promises broken`],
  ]
  const width = Math.max(...lines.map(([name]) => name.length))
  const text = lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`)
  return `${[...text, ...broken.slice(0, BROKEN_SHOWN)].join('\n')}\n`
}
