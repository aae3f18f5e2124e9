/** The example of docs/LIBRARY.md whose warehouse is a lake runs. */
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/server.ts'
import { examples, runExample, writeExamples } from '../library/exampleProject.ts'
import { extensionsFolder } from '../support/extensions.ts'

it('the example of a lake in docs/LIBRARY.md runs', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-library-lake-'))
  await using _ = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
  const sandbox = await startSandbox({ rows: 10 })
  await using _service = { [Symbol.asyncDispose]: () => sandbox.close() }
  await writeExamples(folder)
  await symlink(extensionsFolder(), path.join(folder, 'duckdb'))
  const ofLakes = examples.filter(({ kind }) => kind === 'ts lake')
  expect(ofLakes).toHaveLength(1)
  for (const { file } of ofLakes) await runExample({ folder, file, env: sandbox.env })
})
