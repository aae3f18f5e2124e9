/** The examples of docs/LIBRARY.md and the README's program: they pass the type check, and run against the sandbox. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { run } from '../pack/support.ts'
import { documents } from '../rules/markdown.ts'
import { ROOT } from '../rules/source.ts'
import { COMPILED } from '../support/compiled.ts'

const examples = documents().flatMap(({ name, blocks }) =>
  ['README.md', 'docs/LIBRARY.md'].includes(name)
    ? blocks.filter(({ kind }) => kind === 'ts').map(({ text, line }) => ({ place: `${name}:${line}`, text }))
    : [],
)

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

let folder: string
let sandbox: Sandbox

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-library-'))
  sandbox = await startSandbox({ rows: 10 })
  await mkdir(path.join(folder, 'node_modules'))
  await symlink(ROOT, path.join(folder, 'node_modules/tidemark'))
  await symlink(path.join(ROOT, 'node_modules/@types'), path.join(folder, 'node_modules/@types'))
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify(CHECKED))
  for (const [number, { text }] of examples.entries())
    await writeFile(path.join(folder, `example${number}.ts`), program(text))
})

afterAll(async () => {
  await sandbox.close()
  await rm(folder, { recursive: true })
})

const node = (file: string) =>
  run(process.execPath, [path.join(folder, file)], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      NODE_COMPILE_CACHE: COMPILED,
      ...sandbox.env,
      TIDEMARK_CURRENCIES: 'EUR',
    },
  })

describe('the examples', () => {
  it('pass the type check of a strict project', async () => {
    const checked = await run(process.execPath, [
      path.join(ROOT, 'node_modules/typescript/bin/tsc'),
      '-p',
      folder,
    ]).catch(({ stdout }: { stdout: string }) => ({ stdout }))
    expect(checked.stdout).toBe('')
  })

  it('are one for each method, and the README has one', async () => {
    const { Tidemark } = await import('../../src/library/tidemark.ts')
    const methods = Object.getOwnPropertyNames(Tidemark.prototype).filter((name) => name !== 'constructor')
    const text = examples.map((example) => example.text).join('')
    expect(methods.filter((method) => !text.includes(`tidemark.${method}`))).toEqual([])
    expect(examples.filter(({ place }) => place.startsWith('README.md'))).toHaveLength(1)
  })

  it.each(examples.map(({ place }, number) => ({ place, number })))(
    '$place runs',
    { tags: 'long' },
    async ({ number }) => {
      const { stdout, stderr } = await node(`example${number}.ts`)
      expect(stderr).toBe('')
      expect(stdout).not.toBe('')
      expect(stdout).not.toMatch(/^(undefined|SyncError.*)$/m)
    },
  )
})
