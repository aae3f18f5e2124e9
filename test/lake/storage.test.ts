/**
 * A lake whose files are in object storage: every row arrives, other DuckDBs read it, and no key is written anywhere. A
 * storage that refuses loses nothing, and its error names the cure.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { extensionsFolder } from '../support/extensions.ts'
import { BUCKET, startStorage, STORAGE_ENV } from '../support/objectStorage.ts'
import { aSmallDisk, fill, mayMount } from '../support/smallDisk.ts'
import { aWire, refusal } from '../support/storageWire.ts'
import {
  age,
  aStorageWorld,
  CATALOGUES,
  done,
  filesIn,
  isWhole,
  keyless,
  opened,
  parquetOf,
  REPORTS,
  SECRET,
  startServers,
  storage,
} from './storageWorld.ts'

const READER = fileURLToPath(new URL('./reader.js', import.meta.url))

const mounts = await mayMount()

startServers()

describe.each(CATALOGUES)('with the catalogue in %s', (catalogue) => {
  it('a lake keeps its files in the storage, and every command reads it', async () => {
    await using world = await aStorageWorld(catalogue)
    await done(world, 'sync', '--quiet', ...REPORTS)
    await isWhole(world)
    expect(parquetOf(world).length).toBeGreaterThan(5)
    expect(filesIn(world.folder).filter((file) => file.endsWith('.parquet'))).toEqual([])
    expect(await done(world, 'check', '--json')).toContain(`files in s3://${BUCKET}/${world.path}/`)
    const counted = await done(
      world,
      'query',
      '--format',
      'csv',
      'SELECT count(*) AS n, sum(event_id) AS s FROM events',
    )
    expect(counted).toContain(String(world.sandbox.world.keys('events').length))
    await done(world, 'verify', 'events', '--json')
    await done(world, 'export', '--to', 'out', 'events')
    await done(world, 'status')
    for (const file of [...filesIn(world.folder), ...filesIn(storage.files)])
      expect(() => execFileSync('grep', ['-q', '-a', '-F', SECRET, file]), file).toThrow()
  })
})

it('a lake moves to another place in the storage, but not to its own', async () => {
  await using world = await aStorageWorld()
  await done(world, 'sync', '--quiet', ...REPORTS)
  const to = (place: string) => {
    const lake = `ducklake:sqlite:${join(world.folder, `${place}.sqlite`)}`
    return ['move', '--to', lake, '--data', `s3://${BUCKET}/${place}`, '--endpoint', storage.endpoint]
  }
  const own = await world.run(...to(world.path))
  expect(`${own.code} ${own.stderr}`).toMatch(/^2 .*the place for the files of the new lake has s3:.*--data/s)
  const { settings } = JSON.parse(await done(world, ...to('moved'), '--json')) as { settings: Record<string, string> }
  expect(settings).toMatchObject({ lake_data: `s3://${BUCKET}/moved`, lake_endpoint: storage.endpoint })
  await world.lake(settings)
  await done(world, 'sync', '--quiet', ...REPORTS)
  await isWhole(world)
})

it('a DuckDB in another process reads the lake with its own secret, as the document shows', async () => {
  await using world = await aStorageWorld()
  await done(world, 'sync', '--quiet', 'events')
  const statements = [
    `CREATE SECRET (TYPE s3, KEY_ID '${STORAGE_ENV.AWS_ACCESS_KEY_ID}', SECRET '${SECRET}', REGION 'us-east-1',
      ENDPOINT '127.0.0.1:${storage.port}', URL_STYLE 'path', USE_SSL false)`,
    `ATTACH 'ducklake:sqlite:${join(world.folder, 'lake.sqlite')}' AS lake (READ_ONLY)`,
    'USE lake',
    'SELECT event_id::INTEGER AS id FROM current.events ORDER BY ALL',
  ]
  const answers = execFileSync(process.execPath, [READER], {
    input: statements.map((sql) => `${sql.replaceAll('\n', ' ')}\n`).join(''),
    env: { TIDEMARK_EXTENSIONS: extensionsFolder(), LOAD: 'sqlite_scanner,ducklake,httpfs' },
    encoding: 'utf8',
  })
  const { rows } = JSON.parse(answers.trim().split('\n').at(-1) ?? '{}') as { rows?: { id: number }[] }
  const live = world.sandbox.world.liveKeys('events').map(Number)
  expect(rows?.map(({ id }) => id)).toEqual(live.toSorted((a, b) => a - b))
})

it('upkeep deletes no file of a lake in a directory, however old the file is', async () => {
  await using world = await aStorageWorld()
  await world.configure({ warehouse: 'ducklake:sqlite:lake.sqlite', extensions: extensionsFolder() })
  await done(world, 'sync', '--quiet', 'events')
  const stranger = join(world.folder, 'lake.sqlite.files', 'export.parquet')
  writeFileSync(stranger, 'rows of another program')
  age(stranger)
  await using warehouse = await opened(world)
  expect(await warehouse.removeOrphans()).toBe(0)
  expect(filesIn(world.folder)).toContain(stranger)
})

const CODES = {
  'wrong credentials': {
    env: { AWS_SECRET_ACCESS_KEY: 'wrong' },
    found: /access key is not accepted.*SignatureDoesNotMatch/s,
    cure: 'Correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  },
  'an unknown key': {
    env: { AWS_ACCESS_KEY_ID: 'nobody' },
    found: /access key is not accepted/,
    cure: 'Correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
  },
  'another region': { settings: { lake_region: 'eu-west-1' }, found: /region may be wrong/, cure: 'lake_region' },
} as const

describe('a storage that refuses', () => {
  it.each(Object.entries(CODES))(
    'because of %s: check and sync say what to do, and nothing is lost',
    async (_, wrong) => {
      await using world = await aStorageWorld()
      await done(world, 'sync', '--quiet', 'events')
      world.sandbox.world.edit('events', Number(world.sandbox.world.liveKeys('events')[0]))
      await world.lake('settings' in wrong ? wrong.settings : {})
      for (const args of [['check'], ['sync', 'events']]) {
        const ended = await world.runWith('env' in wrong ? wrong.env : {}, ...args, '--json')
        expect(ended.code, keyless(ended)).toBe(1)
        const said = keyless(ended)
        expect(said).toContain('STORAGE_REFUSED')
        expect(said).toMatch(wrong.found)
        expect(said).toContain(wrong.cure)
      }
      await world.lake({})
      await done(world, 'sync', '--quiet', ...REPORTS)
      await isWhole(world)
    },
  )

  it('because the bucket does not exist: check and sync say so, also before the first sync', async () => {
    await using fresh = await aStorageWorld()
    await fresh.lake({ lake_data: 's3://nobucket/path' })
    await using world = await aStorageWorld()
    await done(world, 'sync', '--quiet', 'events')
    const away = join(storage.files, '../../', `away-${world.path}`)
    await rename(storage.files, away)
    for (const [each, command] of [fresh, world].flatMap((each) => [
      [each, 'check'] as const,
      [each, 'sync'] as const,
    ])) {
      const ended = await each.run(command, '--json')
      expect(ended.code, keyless(ended)).toBe(1)
      expect(keyless(ended)).toMatch(/STORAGE_REFUSED/)
      expect(keyless(ended)).toMatch(/the bucket does not exist.*Create the bucket/s)
    }
    await rename(away, storage.files)
    await done(world, 'sync', '--quiet', ...REPORTS)
    await isWhole(world)
  })

  it('because the folder belongs to another lake: the second lake is not opened', async () => {
    await using one = await aStorageWorld()
    await done(one, 'sync', '--quiet', 'events')
    await using two = await aStorageWorld()
    await two.lake({ lake_data: `s3://${BUCKET}/${one.path}` })
    const ended = await two.run('sync', '--json', 'events')
    expect(ended.code, keyless(ended)).toBe(1)
    expect(keyless(ended)).toMatch(/STORAGE_REFUSED.*belongs to another lake.*folder of its own/s)
  })

  it('because it may only be read: readers read on, loads end clearly', async () => {
    await using world = await aStorageWorld()
    await done(world, 'sync', '--quiet', 'events')
    await using reading = await startStorage({ root: join(storage.files, '..'), flags: ['--readonly'] })
    await world.lake({ lake_endpoint: reading.endpoint })
    expect(await done(world, 'query', '--format', 'csv', 'SELECT count(*) AS n FROM events')).toContain('60')
    world.sandbox.world.insert('events')
    const checked = await world.run('check', '--json')
    expect(checked.code, keyless(checked)).toBe(1)
    for (let n = 0; n < 20; n += 1) world.sandbox.world.insert('events')
    const synced = await world.run('sync', 'events', '--json')
    expect(synced.code, keyless(synced)).toBe(1)
    for (const each of [checked, synced]) {
      expect(keyless(each)).toContain('STORAGE_REFUSED')
      expect(keyless(each)).toContain('Allow the access key to list the bucket')
    }
    await world.lake({})
    await done(world, 'sync', '--quiet', ...REPORTS)
    await isWhole(world)
  })

  it('because the clocks differ too much: the error names the clock', async () => {
    await using world = await aStorageWorld()
    await done(world, 'sync', '--quiet', 'events')
    await using wire = await aWire(storage.port)
    await world.lake({ lake_endpoint: wire.endpoint })
    wire.answerTo = () => refusal('403 Forbidden', 'RequestTimeTooSkewed', 'The difference between the times is large.')
    for (const command of [['check'], ['sync', 'events']]) {
      const ended = await world.run(...command, '--json')
      expect(ended.code, keyless(ended)).toBe(1)
      expect(keyless(ended)).toMatch(/STORAGE_REFUSED/)
      expect(keyless(ended)).toMatch(/clock differs too much/)
    }
    wire.answerTo = undefined
    await done(world, 'sync', '--quiet', ...REPORTS)
    await isWhole(world)
  })

  it('because the bucket is full: sync says so, and the next run is whole', async () => {
    await using world = await aStorageWorld()
    await done(world, 'sync', '--quiet', 'events')
    await using wire = await aWire(storage.port)
    await world.lake({ lake_endpoint: wire.endpoint })
    wire.answerTo = (line) =>
      line.startsWith('PUT') ? refusal('507 Insufficient Storage', 'QuotaExceeded', 'Full.') : undefined
    for (const args of [['check'], ['sync', ...REPORTS]]) {
      const ended = await world.run(...args, '--json')
      expect(ended.code, keyless(ended)).toBe(1)
      expect(keyless(ended)).toContain('STORAGE_REFUSED')
      expect(keyless(ended)).toContain('the bucket is full')
    }
    wire.answerTo = undefined
    await done(world, 'sync', '--quiet', ...REPORTS)
    await isWhole(world)
  })

  it.runIf(mounts)('because its disk is really full: nothing is lost, and the next run is whole', async () => {
    await using disk = await aSmallDisk(4)
    await using small = await startStorage({ root: disk?.path ?? '' })
    await using world = await aStorageWorld()
    await world.lake({ lake_endpoint: small.endpoint })
    await done(world, 'sync', '--quiet', 'events')
    await fill(join(disk?.path ?? '', 'ballast'))
    const ended = await world.run('sync', '--json', ...REPORTS)
    expect(ended.code, keyless(ended)).toBe(1)
    expect(keyless(ended)).toMatch(/STORAGE_(?:REFUSED|UNREACHABLE)/)
    disk?.grow(64)
    await done(world, 'sync', '--quiet', ...REPORTS)
    await isWhole(world)
  })
})
