/** `tidemark reset`: starts over with one report, after a confirmation. */
import { SyncError } from '../../errors.ts'
import { errorFrom } from '../../operations/contract.ts'
import { promptFor } from '../init/answers.ts'
import { counted } from '../layout.ts'
import type { CommandOptions } from '../commandOutput.ts'
import { requireReportNames, selectReports } from '../reportSelection.ts'
import type { ExitCode, Shell } from '../shell.ts'
import { performFor } from '../surroundings.ts'

interface ResetOptions extends CommandOptions {
  readonly empty?: boolean
  readonly yes?: boolean
}

export async function reset(
  shell: Shell,
  name: string,
  { config, empty = false, yes = false }: ResetOptions,
): Promise<ExitCode> {
  // Without --empty, a run must read the rows again. So the report must not be off.
  const [report = 'events'] = empty ? requireReportNames([name]) : selectReports([name], config)
  const message = `${empty ? 'Deletes all rows of' : 'Reads again all rows of'} ${report}. Type its name to start:`
  const isSure =
    yes || (shell.isInteractive && (await promptFor(({ input }) => input({ message }), 'reset')) === report)
  if (!isSure)
    throw new SyncError('USAGE_INVALID', `${report} was not reset: there was no confirmation`, {
      cure: 'Run the command on a terminal and type the name of the report, or add --yes.',
    })
  const onBegin = (place: 'worker' | 'here') => (next = place === 'here' ? `next: tidemark sync ${report}` : next)
  let next = 'the worker reads them now; "tidemark status" shows how far it is'
  const request = { do: 'reset' as const, reports: [report], empty }
  const { reset: answer, publishError } = await performFor(shell, { config, output: {}, onBegin }, request)
  const rows = counted(answer[0]?.rows ?? 0, 'row')
  shell.out.write(`${report}: ${rows} ${empty ? 'deleted' : 'to read again'}; ${next}\n`)
  if (publishError !== undefined) throw errorFrom(publishError)
  return 0
}
