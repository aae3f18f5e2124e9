/**
 * Writes docs/api/README.md from the comments in the source (`npm run docs:api`). Installs TypeDoc as a separate
 * package, because it does not support this project's TypeScript.
 */
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

const HERE = import.meta.dirname
const TO = path.resolve(process.argv[2] ?? path.join(HERE, '../../docs/api'))

const OPENING = `# API reference

For TypeScript and JavaScript developers. Here is every function and every type of \`import … from 'tidemark'\`. [LIBRARY](../LIBRARY.md) explains
them by example, and [ERRORS](../ERRORS.md) explains the codes of errors. \`npm run docs:api\` writes this page from the comments in the source.
`

/** The page shows these unions once, and elsewhere links to them. */
const NAMED = ['ErrorCode', 'ReportName', 'FieldType', 'ActingRequest']

const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: HERE, stdio: 'inherit' })

/** Removes text that only repeats the signature. */
function shortened(page: string): string {
  const plain = page
    .replaceAll(/^#+ (?:Extends|Extended by|Implements|Implementation of|Overrides|Returns)\n\n(?:[^#\n*].*\n+)+/gm, '')
    .replaceAll(/<a id="[^"]*"><\/a> /g, '')
    .replaceAll(/ \| - \|$/gm, ' | |')
  return NAMED.reduce((text, name) => {
    const [definition, union = ''] = new RegExp(String.raw`^> \*\*${name}\*\* = (.*)$`, 'm').exec(text) ?? ['']
    const block = `\`\`\`ts\ntype ${name} =\n  | ${codeOf(union).join('\n  | ')}\n\`\`\``
    const link = `[\`${name}\`](#${name.toLowerCase()})`
    return text
      .replace(definition, () => block)
      .replaceAll(union, link)
      .replaceAll(`(${link})`, link)
  }, plain)
}

/** A `|` inside of braces does not divide the union. */
const codeOf = (union: string): readonly string[] =>
  union
    .replaceAll(/\[(`\w+`)\]\(#\w+\)|\\/g, '$1')
    .replaceAll('`', '')
    .split(/ \| (?![^{]*\})/)

const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-api-'))
try {
  run('npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error')
  run(process.execPath, 'node_modules/typedoc/bin/typedoc', '--out', folder, '--logLevel', 'Warn')
  const page = await readFile(path.join(folder, 'README.md'), 'utf8')
  await mkdir(TO, { recursive: true })
  await writeFile(path.join(TO, 'README.md'), shortened(page).replace(/^# .*\n/, OPENING))
} finally {
  await rm(folder, { recursive: true, force: true })
}
