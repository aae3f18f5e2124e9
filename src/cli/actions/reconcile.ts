/** `tidemark reconcile`: compares whole reports with the service, publishes, and prints what was found. */
import type { Tidemark } from '../../library/tidemark.ts'
import type { AnswerOf } from '../../operations/contract.ts'
import { problemText, table } from '../layout.ts'
import type { Action, CommandOptions } from '../shell.ts'
import { performAndPrint } from '../performAndPrint.ts'

type ReconcileOptions = CommandOptions & { readonly allowMassDelete?: boolean }

export const reconcile: Action<ReconcileOptions> = async (shell, options, names) => {
  const { allowMassDelete } = options
  const start = (tidemark: Tidemark, signal: AbortSignal) => tidemark.reconcile(names, { signal, allowMassDelete })
  return performAndPrint(shell, { ...options, start }, ({ compared }) => ({
    failed: compared.some(({ error }) => error !== undefined),
    document: { reports: compared.map(({ report, found, error }) => ({ report, found, error })) },
    text: (width) => foundText(compared, width),
  }))
}

const FIGURES = ['rows', 'missed', 'differed', 'absent', 'deleted'] as const

const REPAIRED =
  'missed and differed rows were repaired; absent ones are marked as deleted when the next reconcile misses them too\n'

function foundText(compared: AnswerOf<'reconcile'>['compared'], width: number): string {
  const rows = compared.map(({ report, found }) =>
    found === undefined ? [report, 'failed', '', '', '', ''] : [report, ...FIGURES.map((figure) => found[figure])],
  )
  const failures = compared.map(({ report, error }) => problemText(report, error)).join('')
  const repaired = compared.some(({ found }) => found !== undefined) ? REPAIRED : ''
  return `${table(['report', ...FIGURES], rows, width)}\n${failures}${repaired}`
}
