/** `tidemark pause` makes runs skip reports, `resume` ends such a pause, and `cancel` ends a run or a backfill. */
import { namedReports } from '../../operations/reportSelection.ts'
import type { Action, CommandOptions } from '../shell.ts'
import { performAndPrint, starting } from '../performAndPrint.ts'

const changePauses =
  (verb: 'pause' | 'resume'): Action =>
  (shell, options, names) => {
    const reports = namedReports(names)
    const request = { do: verb, reports }
    return performAndPrint(shell, { ...options, start: starting(request) }, () => `${verb}d: ${reports.join(', ')}\n`)
  }

export const pause = changePauses('pause')
export const resume = changePauses('resume')

export const cancel: Action<CommandOptions, string> = (shell, options, id) =>
  performAndPrint(
    shell,
    { ...options, start: starting({ do: 'cancel', id }) },
    ({ what, isAlready = false }) => `cancelled${isAlready ? ' already' : ''}: ${what}\n`,
  )
