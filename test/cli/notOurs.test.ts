/**
 * What lies beside the warehouse and belongs to another user, as after a command that root ran and that was killed: it
 * can't be removed or written, and the error says which folder it is.
 */
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { GIVE_UP, handOver, saidUnprivileged } from '../support/unprivileged.ts'
import { aFolder } from '../support/warehouse.ts'

const program = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)))

it.each([
  ['staged rows', 'warehouse.duckdb.staging'],
  ['a spill', 'warehouse.duckdb.spill-1'],
])('%s of another user are named when the warehouse is opened', async (_, name) => {
  await using folder = await aFolder()
  const left = join(folder.path, name)
  await mkdir(join(left, 'inner'), { recursive: true })
  await chmod(left, 0o555)
  await handOver(folder.path, 0o700)
  const said = await saidUnprivileged(`
    import { openWarehouse } from ${program('cli/rooms.ts')}
    const beside = ${JSON.stringify(join(folder.path, 'warehouse.duckdb'))}
    const config = { queue: 'embedded', warehouse: beside, staging: beside + '.staging', limits: { warehouseMemory: '256MB' } }
    ${GIVE_UP}
    const told = await openWarehouse(config).then(() => 'nothing', ({ code, message, cure }) => ({ code, message, cure }))
    console.log(JSON.stringify(told))
    process.exit()`)
  await chmod(left, 0o700)
  expect(JSON.parse(said)).toMatchObject({
    code: 'WAREHOUSE_MISSING',
    message: expect.stringContaining(left) as string,
    cure: expect.stringMatching(/user/) as string,
  })
})

it('staging that this user may not write is named when rows are staged', async () => {
  await using folder = await aFolder()
  const staging = join(folder.path, 'staging')
  await mkdir(staging)
  await chmod(staging, 0o555)
  await handOver(folder.path, 0o700)
  const said = await saidUnprivileged(`
    import { Spool } from ${program('staging/spool.ts')}
    const limits = { loadRowsMax: 10, loadBytesMax: 1_000 }
    ${GIVE_UP}
    const spool = new Spool(${JSON.stringify(join(staging, 'run'))}, { snapshot: () => ({}) }, limits)
    const page = { lines: () => Buffer.from('{}'), collections: [], rejected: [] }
    const told = await spool.add(page, 0n).then(() => 'nothing', ({ code, message, cure }) => ({ code, message, cure }))
    console.log(JSON.stringify(told))`)
  expect(JSON.parse(said)).toMatchObject({
    code: 'WAREHOUSE_MISSING',
    message: expect.stringContaining(join(staging, 'run')) as string,
  })
})
