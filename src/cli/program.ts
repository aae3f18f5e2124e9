/** The commands and their options, as `--help` shows them, and what happens when they are called wrongly. */
import { Command, CommanderError } from 'commander'
import { SyncError } from '../errors.ts'
import { addCommands } from './commands.ts'
import { tellFailure, tellStopped } from './failure.ts'
import type { Done, ExitCode, Shell } from './shell.ts'
import { version } from '../wiring/version.ts'

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
  addCommands(program, shell, done)
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
