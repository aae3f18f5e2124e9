/** A damaged warehouse: whatever bit is wrong, the published copy can be read whole. */
import { copyFile, open, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { asSyncError } from '../../src/errors.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWarehouse, loadRows, openAt } from '../support/warehouse.ts'

const HEADERS_BYTES = 12_288
const BLOCK_BYTES = 262_144

const someRows = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({ enquiryId: from + n, bookerCompany: `company ${(from + n) * 7_919}` }))

/** Creates a warehouse with blocks of data, metadata and free blocks, and its published copy. */
async function aPublishedWarehouse() {
  const opened = await aWarehouse()
  const to = join(opened.folder, 'published.duckdb')
  await loadRows(opened, enquiries, someRows(0, 20_000))
  await opened.warehouse.checkpoint()
  await loadRows(opened, enquiries, someRows(0, 1_000), { observedAt: '2026-03-02T12:00:00Z' })
  await opened.warehouse.checkpoint()
  await opened.warehouse.publish(to)
  await opened.warehouse.close()
  return Object.assign(opened, { to })
}

/** Returns the code of the error, or the message of an unexpected one. */
function codeOf(error: unknown): string {
  const { code, message } = asSyncError(error)
  return code === 'UNEXPECTED' ? message : code
}

/** Reads each row of the copy, and returns how many enquiries it has. */
async function readWhole(path: string): Promise<number> {
  await using copy = await Database.open(path, { readOnly: true, memory: '128MB' })
  const tables = await copy.rows<{ table: string }>(
    `SELECT schema_name || '.' || table_name AS "table" FROM duckdb_tables()`,
  )
  for (const { table } of tables) await copy.rows(`SELECT bit_xor(hash(each)) FROM ${table} each`)
  const [found] = await copy.rows<{ rows: number }>('SELECT count(*) AS rows FROM main.enquiries')
  return found?.rows ?? 0
}

async function flipBit(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+')
  const byte = Buffer.alloc(1)
  await file.read(byte, 0, 1, at)
  byte.writeUInt8(byte.readUInt8() ^ 4)
  await file.write(byte, 0, 1, at)
  await file.close()
}

/** Returns the blocks of one column of a table, which no statement of a test reads by chance. */
async function blocksOf(path: string, column: string): Promise<number[]> {
  await using database = await Database.open(path, { readOnly: true, memory: '128MB' })
  const found = await database.rows<{ block: number }>(
    `SELECT DISTINCT block_id AS block FROM pragma_storage_info('enquiries') WHERE column_name = '${column}' AND block_id >= 0`,
  )
  return found.map(({ block }) => block)
}

const at = (block: number, offset = 4_000): number => HEADERS_BYTES + block * BLOCK_BYTES + offset

it('a flipped bit in any block is never published: the copy is the last good one, or can be read whole', async () => {
  await using published = await aPublishedWarehouse()
  const { path, to } = published
  const [sound, copy] = [await readFile(path), await readFile(to)]
  const places = Array.from({ length: Math.floor((sound.length - HEADERS_BYTES) / BLOCK_BYTES) }, (_, n) => at(n))
  const refusals: string[] = []
  for (const place of [200, 4_200, 8_300, ...places]) {
    await Promise.all([writeFile(path, sound), writeFile(to, copy), rm(`${path}.wal`, { force: true })])
    await flipBit(path, place)
    try {
      await using warehouse = await openAt(path)
      await loadRows({ ...published, warehouse }, enquiries, someRows(90_000, 5)).catch(() => undefined)
      await warehouse.publish(to)
      expect(await readWhole(to), `byte ${place}`).toBe(20_005)
    } catch (error) {
      refusals.push(codeOf(error))
      expect((await readFile(to)).equals(copy), `byte ${place}`).toBe(true)
    }
  }
  expect(new Set(refusals)).toEqual(new Set(['WAREHOUSE_CORRUPT']))
  // Neither the older header nor a free block is read by anybody.
  expect(refusals.length).toBeLessThan(places.length + 3)
}, 120_000)

it('damage in rows that no statement read is found by the publication, which names the file and the cure', async () => {
  await using published = await aPublishedWarehouse()
  const [block = 0] = await blocksOf(published.path, 'booker_company')
  await flipBit(published.path, at(block))
  await using warehouse = await openAt(published.path)
  await warehouse.recordReportStates([{ report: 'events', enabled: false, offReason: 'off' }])
  await expect(warehouse.publish(published.to)).rejects.toMatchObject({
    code: 'WAREHOUSE_CORRUPT',
    message: `${published.path} is damaged at block ${block}; the published copy stays as it was`,
    cure: expect.stringContaining('restore the file from a backup or from the published copy') as string,
  })
  expect(await readWhole(published.to)).toBe(20_000)
})

it('after WAREHOUSE_CORRUPT a process publishes nothing, and the restored copy is published by the next one', async () => {
  await using published = await aPublishedWarehouse()
  const { path, to } = published
  const sound = await readFile(path)
  const [block = 0] = await blocksOf(path, 'booker_company')
  await flipBit(path, at(block))
  {
    await using warehouse = await openAt(path)
    await warehouse.recordReportStates([{ report: 'events', enabled: false, offReason: 'off' }])
    const read = warehouse.rows('SELECT max(booker_company) FROM main.enquiries')
    await expect(read).rejects.toMatchObject({ code: 'WAREHOUSE_CORRUPT' })
    // The bytes are sound again, but the memory of this process may be damaged.
    await writeFile(path, sound)
    await expect(warehouse.publish(to)).rejects.toMatchObject({ code: 'WAREHOUSE_CORRUPT' })
  }
  await rm(`${path}.wal`, { force: true })
  await copyFile(to, path)
  await using restored = await openAt(path)
  await loadRows({ ...published, warehouse: restored }, enquiries, someRows(90_000, 1))
  expect((await restored.publish(to)).replaced).toBe(true)
  expect(await readWhole(to)).toBe(20_001)
})
