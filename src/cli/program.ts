/** Creates the command line parser, runs a command, and prints its failure. */
import { Command, CommanderError } from 'commander'
import { type SyncError, asSyncError, usageError } from '../errors.ts'
import { addCommands } from './commands.ts'
import { withWholeHints } from './hints.ts'
import type { Done, ExitCode, Shell } from './shell.ts'
import { version } from '../wiring/version.ts'
import { styleText } from 'node:util'
import { createLog } from '../log.ts'
import { line } from './layout.ts'

export async function runProgram(given: Shell, args: readonly string[]): Promise<ExitCode> {
  const shell = withWholeHints(given, args)
  const result: { code: ExitCode } = { code: 0 }
  const program = programOf(shell, (code) => (result.code = code))
  try {
    await program.parseAsync(parsable(args, program), { from: 'user' })
    // A command that failed or was stopped keeps its exit code, also if nobody reads its output.
    if (result.code === 0 && !shell.stop.signal.aborted) await shell.out.drained()
    return result.code
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0
    // If the user has stopped the program, prints no failure: a message about the stop has already been printed.
    if (shell.stop.signal.aborted) return printStopped(shell, args.includes('--json'))
    const failure = thrown instanceof CommanderError ? parserError(thrown, program, args) : thrown
    return printFailure(shell, failure, args.includes('--json'))
  }
}

function parsable(args: readonly string[], program: Command): readonly string[] {
  const [first, asked] = args
  if (first === undefined) return ['--help']
  const known = ['help', ...program.commands.map((command) => command.name())]
  // For `help syncc`, makes the parser see the command `syncc`, so that it suggests `sync`.
  if (first === 'help' && asked !== undefined && !asked.startsWith('-') && !known.includes(asked)) return [asked]
  return sqlLast(args)
}

/** Matches SQL that begins with a comment, such as `-- total`. Does not match options. */
const BEGINS_WITH_COMMENT = /^--[^\s=]*\s/

/** Moves SQL that begins with a comment behind `--`, because the parser would take it for an option. */
function sqlLast(args: readonly string[]): readonly string[] {
  const at = args.findIndex((each) => each === '--' || BEGINS_WITH_COMMENT.test(each))
  const sql = args[at]
  if (args[0] !== 'query' || sql === undefined || sql === '--') return args
  return [...args.slice(0, at), ...args.slice(at + 1), '--', sql]
}

/** Returns the parser, which calls `done` with the command's exit code. */
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
Exit codes: 0 all done, 1 something failed, 2 wrong configuration or usage, 3 wait: a report is paused or off.

Try it without anything to set up:
  $ tidemark demo`

function parserError(error: CommanderError, program: Command, args: readonly string[]): SyncError {
  const command = program.commands.find((each) => args.includes(each.name()))
  const asked = command === undefined ? 'tidemark --help' : `tidemark ${command.name()} --help`
  const message = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ')
  return usageError(message, `Run "${asked}": it shows the options and examples.`)
}

const exitCodeOf = (error: SyncError): ExitCode => (error.isUsage ? 2 : 1)

function printFailure({ out, err }: Shell, thrown: unknown, asJson: boolean): ExitCode {
  const error = asSyncError(thrown)
  if (asJson) {
    out.write(`${JSON.stringify({ error }, undefined, 2)}\n`)
    createLog({ level: 'error' }).error({ code: error.code, cure: error.cure }, error.message)
  } else err.write(failureText(error))
  return exitCodeOf(error)
}

function printStopped({ out, stop }: Shell, asJson: boolean): ExitCode {
  if (asJson) out.write(`${JSON.stringify({ error: asSyncError(stop.signal.reason) }, undefined, 2)}\n`)
  return 1
}

function failureText({ message, code, cure }: SyncError): string {
  const style = { stream: process.stderr }
  return [
    `${styleText('red', 'error', style)}: ${message}`,
    `  ${styleText('dim', 'code', style)}        ${code}`,
    `  ${styleText('dim', 'what to do', style)}  ${line(cure)}`,
    '',
  ].join('\n')
}
