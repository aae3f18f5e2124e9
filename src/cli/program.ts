/** The commands and their options, as `--help` shows them, and what happens when they are called wrongly. */
import { Command, CommanderError } from 'commander'
import { SyncError } from '../errors.ts'
import { backfillCommand } from './commands/backfill.ts'
import { cancelCommand } from './commands/cancel.ts'
import { checkCommand } from './commands/check.ts'
import { demoCommand } from './commands/demo.ts'
import { exportCommand } from './commands/export.ts'
import { healthCommand } from './commands/health.ts'
import { initCommand } from './commands/init.ts'
import { logsCommand } from './commands/logs.ts'
import { pauseCommands } from './commands/pauses.ts'
import { queryCommand } from './commands/query.ts'
import { reconcileCommand } from './commands/reconcile.ts'
import { retryRejectedCommand } from './commands/retryRejected.ts'
import { sandboxCommand } from './commands/sandbox.ts'
import { schemaCommand } from './commands/schema.ts'
import { statusCommand } from './commands/status.ts'
import { syncCommand } from './commands/sync.ts'
import { verifyCommand } from './commands/verify.ts'
import { workerCommand } from './commands/worker.ts'
import { tellFailure, tellStopped } from './failure.ts'
import type { Done, ExitCode, Shell } from './shell.ts'
import { version } from './version.ts'

/** Runs the command that the arguments name; failures are told here and nowhere else. */
export async function runProgram(shell: Shell, args: readonly string[]): Promise<ExitCode> {
  const result: { code: ExitCode } = { code: 0 }
  const program = programOf(shell, (code) => (result.code = code))
  try {
    await program.parseAsync(parsable(args, program), { from: 'user' })
    return result.code
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0
    // Who asked to stop has been told so, and what broke because of it is no news.
    if (shell.stop.signal.aborted) return tellStopped(shell, args.includes('--json'))
    const failure = thrown instanceof CommanderError ? misused(thrown, program, args) : thrown
    return tellFailure(shell, failure, args.includes('--json'))
  }
}

/** The arguments as the parser understands them. */
function parsable(args: readonly string[], program: Command): readonly string[] {
  const [first, asked] = args
  if (first === undefined) return ['--help']
  const known = ['help', ...program.commands.map((command) => command.name())]
  // Of a command that is asked for by itself the parser says that it is unknown, and what was probably meant.
  if (first === 'help' && asked !== undefined && !asked.startsWith('-') && !known.includes(asked)) return [asked]
  return sqlLast(args)
}

/** No option has white space in its name: what begins so is a comment, and SQL that may begin with one. */
const BEGINS_WITH_COMMENT = /^--[^\s=]*\s/

/** Behind `--` nothing is taken for an option. */
function sqlLast(args: readonly string[]): readonly string[] {
  const at = args.findIndex((each) => each === '--' || BEGINS_WITH_COMMENT.test(each))
  const sql = args[at]
  if (args[0] !== 'query' || sql === undefined || sql === '--') return args
  return [...args.slice(0, at), ...args.slice(at + 1), '--', sql]
}

const COMMANDS = [
  demoCommand,
  initCommand,
  checkCommand,
  syncCommand,
  workerCommand,
  backfillCommand,
  reconcileCommand,
  verifyCommand,
  statusCommand,
  logsCommand,
  healthCommand,
  pauseCommands,
  retryRejectedCommand,
  cancelCommand,
  queryCommand,
  schemaCommand,
  exportCommand,
  sandboxCommand,
]

/** All commands as the parser knows them; the exit code of the one that is called goes to `done`. */
export function programOf(shell: Shell, done: Done): Command {
  const program = new Command('tidemark')
    .description('Keeps a DuckDB warehouse in step with a reporting service.')
    .version(version(), '--version', 'print the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureOutput({ writeOut: (text) => shell.out.write(text), writeErr: () => undefined })
    .addHelpText('after', CLOSING_HELP)
  for (const add of COMMANDS) add(program, shell, done)
  return program
}

const CLOSING_HELP = `
Configuration is read from tidemark.yaml (or --config FILE, or TIDEMARK_CONFIG), a .env beside it, and the environment.
Exit codes: 0 all done, 1 something failed, 2 wrong configuration or usage.

Try it without anything to set up:
  $ tidemark demo`

function misused(error: CommanderError, program: Command, args: readonly string[]): SyncError {
  const command = program.commands.find((each) => args.includes(each.name()))
  const asked = command === undefined ? 'tidemark --help' : `tidemark ${command.name()} --help`
  const message = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ')
  return new SyncError('USAGE_INVALID', message, { cure: `Run "${asked}": it lists what there is, with examples.` })
}
