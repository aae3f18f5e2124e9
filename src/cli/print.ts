/** Prints the result of a command on standard output: a document for programs, or text for people. */
import type { ExitCode, Shell } from './shell.ts'
import type { Loudness } from './voices.ts'

export interface CommandResult {
  readonly failed: boolean
  readonly document: () => object
  readonly text: () => string
}

/** Prints the document if `--json` is given, else the text. With `--quiet`, prints the text only after a failure. */
export function print({ out }: Shell, loudness: Loudness, { failed, document, text }: CommandResult): ExitCode {
  if (loudness.json === true) printDocument({ out }, document())
  else if (loudness.quiet !== true || failed) out.write(text())
  return failed ? 1 : 0
}

export const printDocument = ({ out }: Pick<Shell, 'out'>, document: object): void =>
  out.write(`${JSON.stringify(document, undefined, 2)}\n`)
