/**
 * Files that contain rows or take commands belong to one user. Others cannot enter their folders, with any umask. A
 * socket that another user has put in place is not used.
 */
import { chmod, chown, mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openNoticeBook } from '../../jobs/notify/memory.ts'
import { systemClock } from '../../src/clock.ts'
import { isPrivateFolder, makePrivateFolder } from '../../src/folders.ts'
import { answersAt, listenAt, socketPathOf } from '../../src/operations/socket.ts'
import { openRunLogs } from '../../src/runLogs.ts'
import { Spool } from '../../src/staging/spool.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aFolder } from '../support/warehouse.ts'

let before: number
beforeEach(() => {
  before = process.umask(0)
})
afterEach(() => {
  process.umask(before)
})

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)
const answer = () => Promise.resolve({ result: {} })

it('the folder of the socket can be entered by its user alone', async () => {
  await using folder = await aFolder()
  const path = socketPathOf(join(folder.path, 'warehouse.duckdb'))
  await using _ = await listenAt(path, { answer })
  expect(await modeOf(dirname(path))).toBe('700')
  expect(await answersAt(path)).toBe(true)
})

it('a worker that stops leaves neither its socket nor the folder', async () => {
  await using folder = await aFolder()
  const path = socketPathOf(join(folder.path, 'warehouse.duckdb'))
  await (await listenAt(path, { answer }))[Symbol.asyncDispose]()
  expect(await readdir(folder.path)).toEqual([])
})

it('a path that is too long for a socket leads to a private folder among the temporary files', async () => {
  const path = socketPathOf(`/${'long/'.repeat(30)}warehouse.duckdb`)
  await using _ = await listenAt(path, { answer })
  expect(Buffer.byteLength(path)).toBeLessThan(104)
  expect(await modeOf(dirname(path))).toBe('700')
})

it('a command ignores a socket in a folder that others can enter', async () => {
  await using folder = await aFolder()
  const path = socketPathOf(join(folder.path, 'warehouse.duckdb'))
  await using _ = await listenAt(path, { answer })
  await chmod(dirname(path), 0o777)
  expect(await answersAt(path)).toBe(false)
})

it('a command ignores a socket in a folder of another user', async () => {
  await using folder = await aFolder()
  const path = socketPathOf(join(folder.path, 'warehouse.duckdb'))
  await using _ = await listenAt(path, { answer })
  await ofAnotherUser(dirname(path))
  expect(await answersAt(path)).toBe(false)
})

it('a worker refuses to listen in a folder of another user, and names it', async () => {
  await using folder = await aFolder()
  const path = socketPathOf(join(folder.path, 'warehouse.duckdb'))
  await mkdir(dirname(path))
  await ofAnotherUser(dirname(path))
  await expect(listenAt(path, { answer })).rejects.toMatchObject({
    code: 'WAREHOUSE_MISSING',
    message: expect.stringContaining(`${dirname(path)} belongs to another user`) as string,
  })
})

it.runIf(process.getuid?.() === 0)(
  'root reaches the worker of the user who owns the folder of the warehouse',
  async () => {
    await using folder = await aFolder()
    const path = socketPathOf(join(folder.path, 'warehouse.duckdb'))
    await using _ = await listenAt(path, { answer })
    await ofAnotherUser(dirname(path))
    await ofAnotherUser(folder.path)
    expect(await answersAt(path)).toBe(true)
  },
)

it('staged rows can be read by their user alone', async () => {
  await using folder = await aFolder()
  const directory = join(folder.path, 'warehouse.duckdb.staging', 'run')
  await using spool = new Spool(directory, { snapshot: () => ({}) } as never, { loadRowsMax: 10, loadBytesMax: 1_000 })
  await spool.add({ lines: () => Buffer.from('{}'), collections: [], rejected: [] } as never, 0n as never)
  expect(await modeOf(dirname(directory))).toBe('700')
  expect(await modeOf(directory)).toBe('700')
  const [segment] = await readdir(directory)
  expect(await modeOf(join(directory, segment ?? ''))).toBe('600')
})

it('rows that do not fit into memory are spilled to a folder of this user alone', async () => {
  await using folder = await aFolder()
  await using _ = await Warehouse.open({ path: join(folder.path, 'w.duckdb'), memory: '128MB', threads: 1 })
  const spills = (await readdir(folder.path)).filter((each) => each.includes('.spill-'))
  expect(spills).toHaveLength(1)
  expect(await modeOf(join(folder.path, spills[0] ?? ''))).toBe('700')
})

it('lines of runs and stored notices can be read by their user alone', async () => {
  await using folder = await aFolder()
  const directory = join(folder.path, 'w.duckdb.logs')
  const logs = openRunLogs(directory, systemClock)
  logs.take('{"runId":"a-run"}\n')
  expect(await modeOf(directory)).toBe('700')
  const [hour] = await readdir(directory)
  expect(await modeOf(join(directory, hour ?? ''))).toBe('600')
  const notices = join(folder.path, 'w.duckdb.notices.json')
  await (await openNoticeBook(join(folder.path, 'w.duckdb'))).save()
  expect(await modeOf(notices)).toBe('600')
})

it('a folder that an earlier checkout left open is closed, and its parents keep their rights', async () => {
  await using folder = await aFolder()
  const staging = join(folder.path, 'data', 'staging')
  await mkdir(staging, { recursive: true, mode: 0o755 })
  makePrivateFolder(staging)
  expect(isPrivateFolder(staging)).toBe(true)
  expect(await modeOf(dirname(staging))).toBe('755')
})

/** Changes the owner of the folder where that is possible (as root). Elsewhere opens the folder to everybody. */
async function ofAnotherUser(path: string): Promise<void> {
  if (process.getuid?.() === 0) await chown(path, 12_345, 12_345)
  else await chmod(path, 0o777)
}
