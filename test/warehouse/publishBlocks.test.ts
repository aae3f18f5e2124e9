/** Publishing by blocks: a retired copy becomes the next one, and no file that somebody can still read ever changes. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { NO_RUN_COUNTS } from '../../src/plan/runCounts.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import type { CopyWay } from '../../src/warehouse/publish/publish.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { aSmallDisk, fill } from '../support/smallDisk.ts'
import { GIVE_UP, handOver, saidUnprivileged } from '../support/unprivileged.ts'
import { aFolder, NOON } from '../support/warehouse.ts'
import { killPublishers } from './killPublishers.ts'
import { aPublished, areEqual, publishChange, READERS, source } from './publishedFiles.ts'

const run = promisify(execFile)
const [HEADERS_BYTES, BLOCK_BYTES] = [12_288, 262_144]

/** Makes a database at `path` by statements on the attached database `made`. */
async function aDatabase(path: string, options: string, statements: readonly string[]): Promise<void> {
  await using database = await Database.open(':memory:', { memory: '256MB' })
  const more = options.includes('ENCRYPTION') ? `SET force_mbedtls_unsafe = 'true'` : 'SELECT 1'
  for (const sql of [more, `ATTACH '${path}' AS made (${options})`, ...statements, 'CHECKPOINT made', 'DETACH made'])
    await database.rows(sql)
}

/** Runs the copying program with `retired` (by default an equal copy of `from`). Returns what the program reports. */
async function copiedAgain(from: string, env: NodeJS.ProcessEnv = process.env, retired = from): Promise<CopyWay> {
  const [old, temporary] = [`${from}.retired`, `${from}.tmp`]
  await copyFile(retired, old)
  const { stdout } = await run(process.execPath, [source('publish/copyFile.js'), from, temporary, old], { env })
  expect(areEqual(from, temporary)).toBe(true)
  return JSON.parse(stdout) as CopyWay
}

describe('a publication by blocks', () => {
  it('writes only the changed blocks into the retired copy, which is then the warehouse byte for byte', async () => {
    await using published = await aPublished(30, 1)
    const first = (await stat(published.to)).ino
    expect(await publishChange(published)).toEqual({ way: 'whole', reason: 'there is no retired copy' })
    expect((await stat(published.retired)).ino).toBe(first)
    await published.warehouse.rows('UPDATE main.ballast SET c1 = 1 WHERE i = 77')
    const copied = await publishChange(published)
    expect(copied?.way).toBe('blocks')
    expect(copied?.blocks).toBeLessThan(60)
    expect((await stat(published.to)).ino).toBe(first)
    expect(areEqual(published.path, published.to)).toBe(true)
  })

  it('of marks alone writes fewer than 16 blocks, whatever the size of the file', async () => {
    for (const megabytes of [1, 60]) {
      await using published = await aPublished(megabytes)
      for (const time of [1, 2, 3]) {
        const ended = { runId: `r${time}`, report: 'events', kind: 'incremental', state: 'done' } as const
        await published.warehouse.recordRun({ ...ended, startedAt: NOON, endedAt: NOON, ...NO_RUN_COUNTS })
        const { copied } = await published.warehouse.publish(published.to)
        expect(copied?.way).toBe('blocks')
        expect(copied?.blocks).toBeLessThan(16)
        expect(areEqual(published.path, published.to)).toBe(true)
      }
    }
  })

  it('compares bytes: DuckDB gives equal checksums to blocks that differ', async () => {
    await using folder = await aFolder()
    const [one, other] = [join(folder.path, 'one.duckdb'), join(folder.path, 'other.duckdb')]
    for (const [path, value] of [
      [one, 111],
      [other, 222],
    ] as const) {
      await aDatabase(path, `STORAGE_VERSION 'v1.4.0'`, [
        `PRAGMA force_compression = 'uncompressed'`,
        `CREATE TABLE made.t AS SELECT CASE WHEN i IN (10, 500) THEN ${value} ELSE (hash(i) >> 1)::BIGINT END AS n FROM range(1000) t(i)`,
      ])
    }
    const [bytes, others] = [await readFile(one), await readFile(other)]
    const blockOf = (file: Buffer, n: number) => file.subarray(HEADERS_BYTES + n * BLOCK_BYTES).subarray(0, BLOCK_BYTES)
    const numbers = Array.from({ length: (bytes.length - HEADERS_BYTES) / BLOCK_BYTES }, (_, n) => n)
    const trap = numbers.filter((n) => !blockOf(bytes, n).equals(blockOf(others, n)))
    const checksums = trap.map((n) => [blockOf(bytes, n).readBigUInt64LE(), blockOf(others, n).readBigUInt64LE()])
    expect(checksums.filter(([left, right]) => left === right)).not.toEqual([])
    // The retired copy has the main header of the warehouse, and the block with the same checksum and other bytes.
    const stale = Buffer.concat([bytes.subarray(0, HEADERS_BYTES), others.subarray(HEADERS_BYTES)])
    await writeFile(`${one}.retired`, stale)
    const given = [source('publish/copyFile.js'), one, `${one}.tmp`, `${one}.retired`]
    expect(JSON.parse((await run(process.execPath, given)).stdout)).toMatchObject({
      way: 'blocks',
      blocks: trap.length,
    })
    expect(areEqual(one, `${one}.tmp`)).toBe(true)
  })
})

const QUICK_READERS = ['a program that has opened the file', 'a hard link', 'a DuckDB']
const OTHER_READERS = Object.keys(READERS).filter((kind) => !QUICK_READERS.includes(kind))

it.each(QUICK_READERS)('%s never sees changed bytes, and the next copy is a whole one', neverSeesChanges)

it.each(OTHER_READERS)('%s never sees changed bytes either', { tags: 'long' }, neverSeesChanges)

async function neverSeesChanges(kind: string): Promise<void> {
  await using published = await aPublished(5, 3)
  const isDuckDb = kind === 'a DuckDB'
  const expected = isDuckDb ? await (await READERS[kind]?.(published.to))?.finish() : await readFile(published.to)
  const reader = await READERS[kind]?.(published.to)
  await published.warehouse.rows('UPDATE main.ballast SET c1 = i, c2 = i')
  // The first publication retires the file that the reader has. The second one wants to patch it.
  expect((await publishChange(published))?.way).toBe('blocks')
  const { way, reason } = (await publishChange(published)) ?? {}
  expect([way, reason]).toEqual(['whole', 'somebody still has the retired copy: an open file or a hard link'])
  await publishChange(published)
  expect((await reader?.finish())?.equals(expected ?? Buffer.alloc(0))).toBe(true)
  await publishChange(published)
  expect((await publishChange(published))?.way).toBe('blocks')
  expect(areEqual(published.path, published.to)).toBe(true)
}

describe('the whole file is copied', () => {
  it('and no retired copy is kept, if publish_by is whole', async () => {
    await using published = await aPublished(1)
    await published.warehouse.close()
    await using warehouse = await Warehouse.open({ path: published.path, memory: '256MB', publishBy: 'whole' })
    for (const _ of [1, 2, 3]) {
      const copied = await publishChange({ warehouse, to: published.to })
      expect(copied).toEqual({ way: 'whole', reason: 'publish_by is whole' })
      await expect(stat(published.retired)).rejects.toThrow('ENOENT')
    }
    expect(areEqual(published.path, published.to)).toBe(true)
  })

  it.each([
    ['has blocks of another size', `STORAGE_VERSION 'v1.4.0', BLOCK_SIZE 16384`, 'the file has blocks of another size'],
    ['has another version', `STORAGE_VERSION 'v1.0.0'`, 'the file has another version, or is encrypted'],
    ['is encrypted', `STORAGE_VERSION 'v1.4.0', ENCRYPTION_KEY 'key'`, 'the file has another version, or is encrypted'],
  ])('if it %s', async (_, options, reason) => {
    await using folder = await aFolder()
    const path = join(folder.path, 'made.duckdb')
    await aDatabase(path, options, ['CREATE TABLE made.t AS SELECT i FROM range(1000) t(i)'])
    expect(await copiedAgain(path)).toMatchObject({ way: 'whole', reason })
  })

  it('if Perl is missing, fails or does not end in time', { tags: 'long' }, async () => {
    await using folder = await aFolder()
    const path = join(folder.path, 'made.duckdb')
    await aDatabase(path, `STORAGE_VERSION 'v1.4.0'`, ['CREATE TABLE made.t AS SELECT i FROM range(1000) t(i)'])
    expect(await copiedAgain(path)).toMatchObject({ way: 'blocks', blocks: 0 })
    expect(await copiedAgain(path, { PATH: '' })).toMatchObject({ way: 'whole', reason: 'spawn perl ENOENT' })
    for (const text of ['exit 1', 'exec sleep 600']) {
      await writeFile(join(folder.path, 'perl'), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
      const copied = await copiedAgain(path, { PATH: `${folder.path}:${process.env['PATH'] ?? ''}` })
      expect(copied).toMatchObject({ way: 'whole', reason: expect.stringContaining('somebody still has') as string })
    }
  })

  it('if the retired copy is of another warehouse, or has lost its headers', async () => {
    await using published = await aPublished(1)
    await truncate(published.retired, 100)
    expect(await publishChange(published)).toEqual({ way: 'whole', reason: 'the retired copy has another header' })
    await using other = await aPublished(1)
    await copyFile(other.to, published.retired)
    await publishChange(published)
    expect(areEqual(published.path, published.to)).toBe(true)
  })

  it('if this user may not write the retired copy; without rights in the folder, the error names it', async () => {
    await using folder = await aFolder()
    const [from, to] = [join(folder.path, 'made.duckdb'), join(folder.path, 'out', 'published.duckdb')]
    await aDatabase(from, `STORAGE_VERSION 'v1.4.0'`, ['CREATE TABLE made.t AS SELECT i FROM range(1000) t(i)'])
    await mkdir(dirname(to))
    for (const path of [from, to, join(dirname(to), '.published.duckdb.retired')]) {
      if (path !== from) await copyFile(from, path)
      await handOver(path, 0o444)
    }
    for (const path of [folder.path, dirname(to)]) await handOver(path, 0o755)
    const said = await saidUnprivileged(`
      const { chmodSync } = await import('node:fs')
      const { copyInto } = await import(${JSON.stringify(source('publish/publish.ts'))})
      ${GIVE_UP}
      const [from, to] = ${JSON.stringify([from, to])}
      const copied = await copyInto(from, to)
      chmodSync(${JSON.stringify(dirname(to))}, 0o555)
      const error = await copyInto(from, to).catch((thrown) => thrown)
      console.log(JSON.stringify([copied, error.code, error.message]))`)
    const [copied, code, message] = JSON.parse(said) as [CopyWay, string, string]
    expect(copied).toMatchObject({ way: 'whole', reason: expect.stringContaining('EACCES') as string })
    expect([code, message]).toEqual(['PUBLISH_FAILED', expect.stringContaining('EACCES')])
  })
})

it('a truncated retired copy becomes a full one again', async () => {
  await using published = await aPublished(5)
  await truncate(published.retired, 1_000_000)
  expect((await publishChange(published))?.way).toBe('blocks')
  expect(areEqual(published.path, published.to)).toBe(true)
})

it('a damaged block is never written into the retired copy', async () => {
  await using folder = await aFolder()
  const path = join(folder.path, 'made.duckdb')
  await aDatabase(path, `STORAGE_VERSION 'v1.4.0'`, [
    'CREATE TABLE made.t AS SELECT hash(i) AS n FROM range(90000) t(i)',
  ])
  await copyFile(path, join(folder.path, 'sound'))
  await using file = await open(path, 'r+')
  await file.write(Buffer.from('damage'), 0, 6, HEADERS_BYTES + BLOCK_BYTES + 900)
  const copied = await copiedAgain(path, process.env, join(folder.path, 'sound'))
  expect(copied).toMatchObject({ way: 'whole', reason: 'block 1 is damaged', damaged: [1] })
})

it('without space for the new blocks the error is DISK_FULL, and the last copy stays', async () => {
  await using disk = await aSmallDisk(24)
  if (disk === undefined) return
  await using published = await aPublished(5, 0)
  const to = join(disk.path, 'published.duckdb')
  for (const _ of [1, 2]) await publishChange({ ...published, to })
  await copyFile(to, join(published.folder, 'last'))
  await fill(join(disk.path, 'filling'))
  await published.warehouse.rows('INSERT INTO main.ballast SELECT i, hash(i), 1, 2, 3 FROM range(900000) t(i)')
  await expect(publishChange({ ...published, to })).rejects.toMatchObject({ code: 'DISK_FULL' })
  expect(areEqual(to, join(published.folder, 'last'))).toBe(true)
  await rm(join(disk.path, 'filling'))
  disk.grow(64)
  for (const way of ['whole', 'blocks']) {
    await publishChange({ ...published, to })
    expect((await publishChange({ ...published, to }))?.way, way).toBe('blocks')
  }
})

it('a reader finds a sound copy after each of six kills of the publisher', async () => {
  await killPublishers(6)
})
