/**
 * What a lake and a live server say without DuckDB's extensions, and how a transaction that was outrun is done again.
 */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { lakeName, type LakePlace, withTimeouts } from '../../src/warehouse/database/lake.ts'
import { databaseError, repeatConflicts } from '../../src/warehouse/database/databaseError.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { serveForEver } from '../../src/worker/serving.ts'
import { aFolder } from '../support/warehouse.ts'

describe('without the extension', () => {
  it('a lake is not opened, and the error names the file to put into the folder', async () => {
    await using folder = await aFolder()
    const lake: LakePlace = {
      catalogue: 'sqlite',
      at: join(folder.path, 'lake.sqlite'),
      data: `${folder.path}/files/`,
      extensions: folder.path,
    }
    await expect(Warehouse.open({ path: lake.at, memory: '256MB', lake })).rejects.toMatchObject({
      code: 'EXTENSION_MISSING',
      isUsage: true,
      message: expect.stringContaining(join(folder.path, 'sqlite_scanner.duckdb_extension')),
      cure: expect.stringMatching(/pip download --no-deps duckdb-extension-sqlite-scanner==\d+\.\d+\.\d+"/),
    })
  })

  it('nothing is served', async () => {
    await using folder = await aFolder()
    const place = { host: '127.0.0.1', port: 1, isLoopback: true, token: '0123456789abcdef', extensions: undefined }
    const settings = { ...place, published: join(folder.path, 'published.duckdb'), memory: '256MB', disk: '1GB' }
    await expect(serveForEver(settings, { timeMs: 1_000, log: console })).rejects.toMatchObject({
      code: 'EXTENSION_MISSING',
      message: expect.stringContaining('httpfs'),
    })
  })
})

it.each([
  ['host=db user=me password=hunter2 dbname=lake', 'ducklake:postgres:host=db user=me password=*** dbname=lake'],
  ["password = 'hunter 2' host=db", 'ducklake:postgres:password=*** host=db'],
  [String.raw`password='it\'s hunter 2' host=db`, 'ducklake:postgres:password=*** host=db'],
  [String.raw`password=hunter\ 2 host=db`, 'ducklake:postgres:password=*** host=db'],
  ["host=db password='hunter 2", 'ducklake:postgres:host=db password=***'],
  ['postgres://me:hunter2@db/lake', 'ducklake:postgres:postgres://me:***@db/lake'],
  ['postgres://me:hunter/2@3@db/lake', 'ducklake:postgres:postgres://me:***@db/lake'],
])('the name of a lake holds no password: %#', (at, name) => {
  expect(lakeName({ catalogue: 'postgres', at, data: '', extensions: undefined })).toBe(name)
})

it.each([
  ['host=db dbname=lake', 'host=db dbname=lake connect_timeout=10 keepalives_idle=10'],
  ['host=db connect_timeout=2', 'host=db connect_timeout=2 keepalives_idle=10'],
  ['postgres://me@db/lake', 'postgres://me@db/lake?connect_timeout=10&keepalives_idle=10'],
  ['postgresql://me:a?b@db/lake', 'postgresql://me:a?b@db/lake?connect_timeout=10&keepalives_idle=10'],
  ['postgres://db/lake?sslmode=require', 'postgres://db/lake?sslmode=require&connect_timeout=10&keepalives_idle=10'],
])('the connection string of a catalogue gets limits for a silent network, unless it has them: %#', (at, beginning) => {
  const full = withTimeouts(at)
  expect(full.startsWith(beginning), full).toBe(true)
  expect(full).toContain('tcp_user_timeout=20000')
  expect(withTimeouts(full)).toBe(full)
})

it('a file of the lake that this user may not open is named, with a cure', () => {
  const refused = 'IO Error: Cannot open file "/srv/lake/main/events/1.parquet": Permission denied'
  expect(databaseError(new TypeError(refused), 'ducklake:sqlite:/srv/lake.sqlite')).toMatchObject({
    code: 'WAREHOUSE_MISSING',
    message: refused,
    cure: expect.stringContaining('this user') as string,
  })
})

it.each([
  ['ducklake:postgres:dbname=lake', 'LAKE_BUSY'],
  ['/srv/warehouse.duckdb', 'UNEXPECTED'],
])('an internal error of DuckDB means a dropped table only in a lake: %s', (path, code) => {
  const internal = 'INTERNAL Error: Attempted to access index 0 within vector of size 0'
  expect(databaseError(new TypeError(internal), path).code).toBe(code)
})

const outrun = () => new TypeError('Failed to commit DuckLake transaction. Exceeded the maximum retry count of 0')

const refused = (line: string) => `TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.
Exceeded the maximum retry count of 0 set by the ducklake_max_retry_count setting.
Failed to flush changes into DuckLake: Failed to execute query "INSERT INTO ducklake_inlined_data_1_3 VALUES ('Ada')": ${line}
`

describe('a transaction that others outran', () => {
  it('is done again until it is the first', async () => {
    let tries = 0
    const work = async () => {
      tries += 1
      if (tries < 3) throw outrun()
      return tries
    }
    expect(await repeatConflicts(work, 'lake')).toBe(3)
  })

  it('is not taken for a damaged file when its rows contain such words, and its error contains no row', () => {
    const quoted = `TransactionContext Error: Failed to commit: Failed to commit DuckLake transaction.
Exceeded the maximum retry count of 0 set by the ducklake_max_retry_count setting.
Failed to execute query "INSERT INTO ducklake_inlined_data_1_3 VALUES ('Ada', 'checksum', 'disk is full')"`
    const error = databaseError(new TypeError(quoted), 'lake')
    expect(error).toMatchObject({ code: 'LAKE_BUSY', message: 'lake: another loader committed first' })
    expect(error.cause).toBeUndefined()
  })

  it('is not tried again if the user may not write, and the error names the right and no row', async () => {
    let tries = 0
    for (const right of [
      'permission denied for table ducklake_snapshot',
      'must be owner of table ducklake_inlined_data_1_3',
    ]) {
      const error = databaseError(new TypeError(refused(`ERROR:  ${right}`)), 'lake')
      expect(error).toMatchObject({
        code: 'WAREHOUSE_MISSING',
        message: `PostgreSQL refuses lake: ${right}`,
        cure: expect.stringContaining('docs/LAKE.md') as string,
      })
      expect(error.cause).toBeUndefined()
      tries = 0
      const work = () => {
        tries += 1
        return Promise.reject(error)
      }
      await expect(repeatConflicts(work, 'lake')).rejects.toBe(error)
      expect(tries).toBe(1)
    }
    const conflict = databaseError(
      new TypeError(refused('ERROR:  duplicate key value\nDETAIL:  permission denied')),
      'lake',
    )
    expect(conflict.code).toBe('LAKE_BUSY')
  })

  it('is given up with a clear error after a number of tries', async () => {
    await expect(repeatConflicts(() => Promise.reject(outrun()), 'lake', 2)).rejects.toMatchObject({
      code: 'LAKE_BUSY',
      retry: 'transient',
    })
  })

  it('is not done again for any other error', async () => {
    let tries = 0
    const work = () => {
      tries += 1
      return Promise.reject(new TypeError('out of order'))
    }
    await expect(repeatConflicts(work, 'lake')).rejects.toThrow('out of order')
    expect(tries).toBe(1)
  })
})
