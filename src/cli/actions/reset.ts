/** `tidemark reset`: asks first, then makes a run read a report's rows again. `--empty` deletes them instead. */
import { usageError } from '../../errors.ts'
import type { Place } from '../../operations/perform.ts'
import { promptFor } from '../init/answers.ts'
import { counted } from '../layout.ts'
import { namedReports, selectReports } from '../../operations/reportSelection.ts'
import type { Action, CommandOptions } from '../shell.ts'
import { performAndPrint, starting } from '../performAndPrint.ts'

interface ResetOptions extends CommandOptions {
  readonly empty?: boolean
  readonly yes?: boolean
}

export const reset: Action<ResetOptions, string> = async (shell, options, name) => {
  const { config, empty = false, yes = false } = options
  // A report that is off cannot be read again, but it can be emptied.
  const [report = 'events'] = empty ? namedReports([name]) : selectReports([name], config)
  const message = `${empty ? 'Deletes all rows of' : 'Reads again all rows of'} ${report}. Type its name to start:`
  const typed = yes || !shell.isInteractive ? undefined : await promptFor(({ input }) => input({ message }), 'reset')
  if (!yes && typed !== report) {
    const why = typed === undefined ? 'there was no confirmation' : `"${typed}" is not its name`
    const cure = 'Run the command on a terminal and type the name of the report, or add --yes.'
    throw usageError(`${report} was not reset: ${why}`, cure)
  }
  let next = 'the worker reads them now; "tidemark status" shows how far it is'
  const onPlace = (place: Place) => (next = place === 'here' ? `next: tidemark sync ${report}` : next)
  const request = { do: 'reset' as const, reports: [report], empty }
  return performAndPrint(
    shell,
    { ...options, start: starting(request), onPlace },
    ({ reset: [{ rows } = { rows: 0 }] }) =>
      `${report}: ${counted(rows, 'row')} ${empty ? 'deleted' : 'to read again'}; ${next}\n`,
  )
}
