/** A folder with the examples of docs/LIBRARY.md and the README, as a project of its own that has installed Tidemark. */
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'vitest'
import { run } from '../pack/support.ts'
import { documents } from '../rules/markdown.ts'
import { ROOT } from '../rules/source.ts'
import { COMPILED } from '../support/compiled.ts'

/** `ts lake` is the kind of an example whose warehouse is a lake. */
const KINDS = ['ts', 'ts lake']

export const examples = documents()
  .filter(({ name }) => ['README.md', 'docs/LIBRARY.md'].includes(name))
  .flatMap(({ name, blocks }) => blocks.map((block) => ({ ...block, place: `${name}:${block.line}` })))
  .filter(({ kind }) => KINDS.includes(kind))
  .map((example, number) => ({ ...example, file: `example${number}.ts` }))

/** Most examples use `tidemark` from the first one. */
const program = (text: string): string =>
  text.includes('openTidemark')
    ? `${text}\nexport {}\n`
    : `import { openTidemark } from 'tidemark'\nawait using tidemark = await openTidemark()\n${text}`

const CHECKED = {
  compilerOptions: {
    module: 'nodenext',
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'esnext.iterator'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    // The checkout's package is its source.
    allowImportingTsExtensions: true,
    noUncheckedIndexedAccess: true,
  },
  include: ['*.ts'],
}

/** Writes the examples and what their type check needs. */
export async function writeExamples(folder: string): Promise<void> {
  await mkdir(path.join(folder, 'node_modules'))
  await symlink(ROOT, path.join(folder, 'node_modules/tidemark'))
  await symlink(path.join(ROOT, 'node_modules/@types'), path.join(folder, 'node_modules/@types'))
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(CHECKED))
  for (const { file, text } of examples) await writeFile(path.join(folder, file), program(text))
}

interface ExampleRun {
  readonly folder: string
  readonly file: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Runs an example. It must print its results, and no error. */
export async function runExample({ folder, file, env }: ExampleRun): Promise<void> {
  const { stdout, stderr } = await run(process.execPath, [path.join(folder, file)], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      NODE_COMPILE_CACHE: COMPILED,
      ...env,
      TIDEMARK_CURRENCIES: 'EUR',
    },
  })
  expect(stderr).toBe('')
  expect(stdout).not.toBe('')
  expect(stdout).not.toMatch(/^(undefined|SyncError.*)$/m)
}
