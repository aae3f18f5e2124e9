/** Adds `npx` and `--config FILE` to the commands in messages if needed, so that users can paste them. */
import type { Output, Shell } from './shell.ts'

/** Commands that print data, in which `npx` and `--config` are not added to the names of commands. */
const PRINT_DATA = ['changes', 'export', 'logs', 'mcp', 'new-report', 'query', 'schema']
const WITHOUT_CONFIG = ['demo', 'init', 'new-report', 'sandbox']

/** Matches the start of a quoted command, such as `tidemark sync`. */
const COMMAND = /(?<=["`]|(?:Run|with): )tidemark (\S+?)(?=["`\s]|$)/gm

export function withWholeHints(shell: Shell, args: readonly string[]): Shell {
  if (args.includes('--json')) return shell
  const program = shell.env['npm_command'] === undefined ? 'tidemark' : 'npx tidemark'
  const at = args.findIndex((each) => /^--config(?:=|$)/.test(each))
  const file = /=(.*)/s.exec(args[at] ?? '')?.[1] ?? args[at + 1] ?? ''
  const config = at < 0 ? '' : ` --config ${/^[\w./@:+-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`}`
  // The file of `--config` may already name the new warehouse, so other commands suggest `move` without this option.
  const withoutConfig = args.includes('move') ? WITHOUT_CONFIG : [...WITHOUT_CONFIG, 'move']
  const complete = (text: string): string =>
    text.replaceAll(COMMAND, (_, name: string) =>
      [program, ` ${name}`, name.startsWith('-') || withoutConfig.includes(name) ? '' : config].join(''),
    )
  const completed = (output: Output): Output =>
    Object.create(output, { write: { value: (text: string) => output.write(complete(text)) } })
  const { out, err } = shell
  return { ...shell, err: completed(err), out: PRINT_DATA.includes(args[0] ?? '') ? out : completed(out) }
}
