/** The examples of docs/LIBRARY.md and the README's program: they pass the type check, and run against the sandbox. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts'
import { run } from '../pack/support.ts'
import { ROOT } from '../rules/source.ts'
import { examples, runExample, writeExamples } from './exampleProject.ts'

let folder: string
let sandbox: Sandbox

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-library-'))
  sandbox = await startSandbox({ rows: 10 })
  await writeExamples(folder)
})

afterAll(async () => {
  await sandbox.close()
  await rm(folder, { recursive: true })
})

describe('the examples', () => {
  it('pass the type check of a strict project', { tags: 'long' }, async () => {
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

  // An example with a lake needs DuckDB's extensions: test/lake/library.test.ts runs it.
  it.each(examples.filter(({ kind }) => kind === 'ts'))('$place runs', { tags: 'long' }, async ({ file }) => {
    await runExample({ folder, file, env: sandbox.env })
  })
})
