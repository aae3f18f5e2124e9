/**
 * What lies beside the warehouse and belongs to another user, as after a command that root ran and that was killed: it
 * can't be removed or written, and the error says which folder it is.
 */
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { listenAt } from '../../src/operations/socket.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { GIVE_UP, handOver, saidUnprivileged } from '../support/unprivileged.ts'
import { aFolder } from '../support/warehouse.ts'

const program = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)))

it.each([
  ['staged rows', 'warehouse.duckdb.staging'],
  ['a spill', 'warehouse.duckdb.spill-1'],
])('%s of another user are named when the warehouse is opened', { tags: 'long' }, async (_, name) => {
  await using folder = await aFolder()
  const left = join(folder.path, name)
  await mkdir(join(left, 'inner'), { recursive: true })
  await chmod(left, 0o555)
  await handOver(folder.path, 0o700)
  const said = await saidUnprivileged(`
    import { openWarehouse } from ${program('wiring/openContext.ts')}
    const beside = ${JSON.stringify(join(folder.path, 'warehouse.duckdb'))}
    const config = { queue: 'embedded', warehouse: beside, staging: beside + '.staging', limits: { warehouseMemory: '256MB' } }
    ${GIVE_UP}
    const outcome = await openWarehouse(config).then(() => 'nothing', ({ code, message, cure }) => ({ code, message, cure }))
    console.log(JSON.stringify(outcome))
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
    const outcome = await spool.add(page, 0n).then(() => 'nothing', ({ code, message, cure }) => ({ code, message, cure }))
    console.log(JSON.stringify(outcome))`)
  expect(JSON.parse(said)).toMatchObject({
    code: 'WAREHOUSE_MISSING',
    message: expect.stringContaining(join(staging, 'run')) as string,
  })
})

/** Opens the warehouse and its copy as a user who may enter at most the copy's folder. Returns what this user sees. */
async function readBy(folder: string, published: string): Promise<unknown> {
  const said = await saidUnprivileged(`
    import { openNewest, openPublished } from ${program('wiring/published.ts')}
    const config = ${JSON.stringify({ warehouse: join(folder, 'warehouse.duckdb'), published, limits: { queryMemory: '256MB' } })}
    ${GIVE_UP}
    const outcomeOf = (opening) => opening.then((opened) => opened?.file ?? 'opened', ({ code, message }) => ({ code, message }))
    console.log(JSON.stringify([await outcomeOf(openNewest(config)), await outcomeOf(openPublished(config))]))
    process.exit()`)
  return JSON.parse(said)
}

const refused = (file = '') => ({
  code: 'WAREHOUSE_MISSING',
  message: `${file} cannot be reached: EACCES: permission denied`,
})

it('files that this user may not look at are not taken for missing ones', { tags: 'long' }, async () => {
  await using folder = await aFolder()
  const [warehouse, published] = ['warehouse', 'published'].map((name) => join(folder.path, `${name}.duckdb`))
  for (const path of [warehouse ?? '', published ?? '']) await (await Warehouse.open({ path, memory: '256MB' })).close()
  await handOver(folder.path, 0o000)
  const outcome = await readBy(folder.path, published ?? '')
  await handOver(folder.path, 0o700)
  expect(outcome).toEqual([refused(warehouse), refused(published)])
})

it.each([
  ["enter the warehouse's folder", { folder: 0o000, warehouse: 0o600 }],
  ['read the warehouse', { folder: 0o700, warehouse: 0o000 }],
])('who may not %s is shown the published copy', { tags: 'long' }, async (_, rights) => {
  await using folder = await aFolder()
  await using shared = await aFolder()
  const published = join(shared.path, 'published.duckdb')
  const warehouse = join(folder.path, 'warehouse.duckdb')
  for (const path of [warehouse, published]) await (await Warehouse.open({ path, memory: '256MB' })).close()
  await handOver(shared.path, 0o700)
  await handOver(published, 0o400)
  await handOver(warehouse, rights.warehouse)
  await handOver(folder.path, rights.folder)
  const outcome = await readBy(folder.path, published)
  await handOver(folder.path, 0o700)
  expect(outcome).toEqual(['published', 'opened'])
})

it.each([
  ['a warehouse', 'warehouse.duckdb', ''],
  ['a lake', 'lake.sqlite', 'ducklake:sqlite:'],
])('status of %s in a folder that this user may not enter names the folder and a cure', async (_, name, kind) => {
  await using folder = await aFolder()
  const at = join(folder.path, name)
  await handOver(folder.path, 0o000)
  const said = await saidUnprivileged(`
    import { systemClock as clock } from ${program('clock.ts')}
    import { loadConfig } from ${program('config/config.ts')}
    import { readStatus } from ${program('operations/readStatus.ts')}
    const env = { REPORTING_BASE_URL: 'https://reports.example.com', REPORTING_CLIENT_ID: 'acme', REPORTING_CLIENT_SECRET: 'secret' }
    Object.assign(env, { TIDEMARK_EXTENSIONS: '/', TIDEMARK_WAREHOUSE: ${JSON.stringify(`${kind}${at}`)} })
    const config = await loadConfig({ env, cwd: '/' })
    ${GIVE_UP}
    const { signal } = new AbortController()
    const outcome = await readStatus(config, { clock, signal }).then(() => 'nothing', ({ code, message, cure }) => ({ code, message, cure }))
    console.log(JSON.stringify(outcome))
    process.exit()`)
  await handOver(folder.path, 0o700)
  expect(JSON.parse(said)).toEqual({
    ...refused(at),
    cure: expect.stringContaining('Allow this user to enter') as string,
  })
})

it('the copy of another warehouse is not replaced if this user may not enter the folder of that warehouse', async () => {
  await using others = await aFolder()
  await using own = await aFolder()
  const [first, second, to] = [
    join(others.path, 'first.duckdb'),
    join(own.path, 'second.duckdb'),
    join(own.path, 'to.duckdb'),
  ]
  await using warehouse = await Warehouse.open({ path: first, memory: '256MB' })
  await warehouse.publish(to)
  await handOver(to, 0o600)
  await handOver(own.path, 0o700)
  await handOver(others.path, 0o000)
  const said = await saidUnprivileged(`
    import { Warehouse } from ${program('warehouse/warehouse.ts')}
    ${GIVE_UP}
    const warehouse = await Warehouse.open({ path: ${JSON.stringify(second)}, memory: '256MB' })
    const outcome = await warehouse.publish(${JSON.stringify(to)}).catch(({ code, message }) => ({ code, message }))
    console.log(JSON.stringify(outcome))
    process.exit()`)
  await handOver(others.path, 0o700)
  expect(JSON.parse(said)).toEqual({
    code: 'PUBLISH_FAILED',
    message: `${to} is the published copy of another warehouse, ${first}`,
  })
})

it('lines of runs that this user may not read are not taken for lines that were never written', async () => {
  await using folder = await aFolder()
  const kept = join(folder.path, 'warehouse.duckdb.logs')
  await mkdir(kept)
  await handOver(kept, 0o000)
  await handOver(folder.path, 0o700)
  const said = await saidUnprivileged(`
    import { logs } from ${program('cli/actions/logs.ts')}
    import { loadConfig } from ${program('config/config.ts')}
    const env = { REPORTING_BASE_URL: 'https://reports.example.com', REPORTING_CLIENT_ID: 'acme', REPORTING_CLIENT_SECRET: 'secret' }
    const shell = { env, cwd: ${JSON.stringify(folder.path)} }
    env.TIDEMARK_WAREHOUSE = './warehouse.duckdb'
    const config = await loadConfig(shell)
    ${GIVE_UP}
    const outcome = await logs(shell, { config }, 'events').then(() => 'nothing', ({ code, message }) => ({ code, message }))
    console.log(JSON.stringify(outcome))`)
  await handOver(kept, 0o700)
  expect(JSON.parse(said)).toEqual({
    code: 'WAREHOUSE_MISSING',
    message: `${kept} cannot be opened or written: EACCES: permission denied`,
  })
})

const answer = () => Promise.resolve({ result: {} })

it('a folder where the socket belongs is named when a worker would listen there', async () => {
  await using folder = await aFolder()
  const path = join(folder.path, 'warehouse.duckdb.control', 'socket')
  await mkdir(path, { recursive: true })
  await expect(listenAt(path, { answer })).rejects.toMatchObject({
    code: 'WAREHOUSE_MISSING',
    message: expect.stringContaining(`${path} cannot be opened or written`) as string,
  })
})
