/** Sockets, staged rows and the pipes of a child process are open files, too: any may be the one that is refused. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { asSyncError } from '../../src/errors.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aPlace, type Told } from './ownProcess.ts'
import { differencesOf } from './stories.ts'

const PROGRAM = fileURLToPath(new URL('programs/fewFiles.ts', import.meta.url))
const PLACES = ['token', 'staging', 'publishing', 'copying'] as const

type Found = Record<(typeof PLACES)[number] | 'afterwards', Told['error'] | 'done'>

async function failTwice(): Promise<never> {
  await using _ = { [Symbol.asyncDispose]: () => Promise.reject(new TypeError('the folder could not be removed')) }
  throw new TypeError("EMFILE: too many open files, open 'segment-0.ndjson'")
}

describe('a process that may open no more files', () => {
  it('says so wherever it happens, blames neither service nor folder, and is whole once there are some', {
    tags: 'long',
  }, async () => {
    await using sandbox = await startSandbox({ rows: 12 })
    await using place = await aPlace(sandbox.url)
    const { PATH = '' } = process.env
    const env = { PATH, REPORTING_CLIENT_SECRET: 'demo-secret', TIDEMARK_TEST_FOLDER: place.folder }
    const command = `ulimit -n 100; exec "${process.execPath}" --no-warnings "${PROGRAM}"`
    const { stdout } = await promisify(execFile)('sh', ['-c', command], { env })
    const found = JSON.parse(stdout) as Found
    for (const each of PLACES) {
      expect(found[each], each).toMatchObject({ code: 'FILES_EXHAUSTED', cure: expect.stringMatching(/ulimit -n/) })
    }
    expect(found.afterwards).toBe('done')
    await using warehouse = await Warehouse.open({ path: place.config.warehouse, memory: '256MB' })
    expect(await differencesOf({ warehouse, sandbox, config: place.config }, 'events')).toEqual([])
  })
  it('tells what failed first where clearing up after it fails as well', async () => {
    expect(asSyncError(await failTwice().catch((thrown: unknown) => thrown))).toMatchObject({ code: 'FILES_EXHAUSTED' })
  })
})
