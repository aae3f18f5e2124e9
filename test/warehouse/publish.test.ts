/** The published copy: readers are never blocked and see one committed cut (product contract §5.7). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { NO_RUN_COUNTS } from '../../src/plan/runCounts.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { plusMs } from '../../src/instant.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aWarehouse, loadRows, NOON, openAt } from '../support/warehouse.ts'

const RETIRED = '.published.duckdb.retired'

const reader = (path: string) => Database.open(path, { readOnly: true, memory: '128MB' })

async function statusesIn(path: string): Promise<unknown[]> {
  await using database = await reader(path)
  return (await database.rows('SELECT status FROM current.enquiries ORDER BY 1')).map((row) => row['status'])
}

let minute = 0
const load = (opened: Parameters<typeof loadRows>[0], id: number, status: number) => {
  minute += 1
  return loadRows(opened, enquiries, [{ enquiryId: id, status, taxes: [{ id, status }] }], {
    observedAt: plusMs(NOON, minute * 60_000),
  })
}

describe('a published copy', () => {
  it('can be read while the warehouse is open, books and all, and is a database of its own', async () => {
    await using opened = await aWarehouse()
    await load(opened, 1, 5)
    const to = join(opened.folder, 'out', 'published.duckdb')
    expect(await opened.warehouse.publish(to)).toMatchObject({ path: to, replaced: true })
    expect(await statusesIn(to)).toEqual([5])
    await using database = await reader(to)
    for (const table of ['marks', 'windows', 'loads', 'runs', 'rejected_rows', 'schema_changes', 'freshness']) {
      expect(await database.rows(`SELECT * FROM tidemark.${table}`), table).toBeDefined()
    }
    await expect(database.run('CREATE TABLE main.mine (n INTEGER)')).rejects.toThrow(/read-only/)
  })

  it('is replaced as a whole: an old reader keeps its cut, a new one sees the new', async () => {
    await using opened = await aWarehouse()
    const to = join(opened.folder, 'published.duckdb')
    await load(opened, 1, 5)
    await opened.warehouse.publish(to)
    const program = `
      const { Database } = await import(${JSON.stringify(fileURLToPath(new URL('../../src/warehouse/database/duckdb.ts', import.meta.url)))})
      const database = await Database.open(${JSON.stringify(to)}, { readOnly: true, memory: '128MB' })
      console.log('open')
      process.stdin.once('data', async () => {
        const [row] = await database.rows('SELECT max(p.status) AS parent, max(c.status) AS child FROM main.enquiries p, main.enquiries__taxes c')
        console.log(JSON.stringify(row))
        await database.close()
        process.exit(0)
      })`
    const old = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] })
    await once(old.stdout, 'data')
    await load(opened, 1, 6)
    expect(await opened.warehouse.publish(to)).toMatchObject({ replaced: true })
    expect(await statusesIn(to)).toEqual([6])
    const told = once(old.stdout, 'data')
    old.stdin.write('go\n')
    expect(JSON.parse(String((await told)[0]))).toEqual({ parent: 5, child: 5 })
    await once(old, 'exit')
  })

  it('can be read again after the next publication, although a killed program had written into it', async () => {
    await using opened = await aWarehouse()
    const to = join(opened.folder, 'published.duckdb')
    await load(opened, 1, 5)
    await opened.warehouse.publish(to)
    const program = `
      const { DuckDBInstance } = await import('@duckdb/node-api')
      const connection = await (await DuckDBInstance.create(${JSON.stringify(to)})).connect()
      await connection.run('CREATE TABLE main.mine AS SELECT 1 AS n')
      process.kill(process.pid, 'SIGKILL')`
    await once(spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' }), 'exit')
    expect(await readdir(opened.folder)).toContain('published.duckdb.wal')
    await load(opened, 1, 6)
    await opened.warehouse.publish(to)
    expect(await statusesIn(to)).toEqual([6])
  })

  it('is replaced where a link leads, from the first one on, and the link stays', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const [to, target] = [join(opened.folder, 'published.duckdb'), join(opened.folder, 'disk', 'copy.duckdb')]
    await symlink(join('disk', 'copy.duckdb'), to)
    for (const status of [5, 6]) {
      await load(opened, 1, status)
      expect(await opened.warehouse.publish(to)).toMatchObject({ path: to, replaced: true })
      expect(await statusesIn(target)).toEqual([status])
    }
    expect((await lstat(to)).isSymbolicLink()).toBe(true)
    expect(await readdir(join(opened.folder, 'disk'))).toEqual(['.copy.duckdb.retired', 'copy.duckdb'])
  })

  it('is refused where it is the warehouse itself by a link, and nothing is lost', async () => {
    await using opened = await aWarehouse()
    const to = join(opened.folder, 'published.duckdb')
    await symlink(opened.path, to)
    await load(opened, 1, 5)
    await expect(opened.warehouse.publish(to)).rejects.toMatchObject({
      code: 'PUBLISH_FAILED',
      message: expect.stringContaining('is the warehouse itself') as string,
      cure: expect.stringContaining('Remove the link') as string,
    })
    await load(opened, 1, 6)
    expect(await opened.warehouse.rows('SELECT status FROM main.enquiries')).toEqual([{ status: 6 }])
  })

  it('is left alone when nothing changed, and replaced after a load or a run', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const to = join(opened.folder, 'published.duckdb')
    await load(opened, 1, 5)
    expect((await opened.warehouse.publish(to)).replaced).toBe(true)
    expect((await opened.warehouse.publish(to)).replaced).toBe(false)
    await opened.warehouse.recordReportStates([{ report: 'events', enabled: false, offReason: 'off' }])
    expect((await opened.warehouse.publish(to)).replaced).toBe(true)
    const run = {
      runId: 'r',
      report: 'events',
      kind: 'incremental',
      state: 'failed',
      startedAt: NOON,
      endedAt: NOON,
    } as const
    await opened.warehouse.recordRun({
      ...run,
      ...NO_RUN_COUNTS,
    })
    expect((await opened.warehouse.publish(to)).replaced).toBe(true)
    await opened.warehouse.close()
    await using again = await openAt(opened.path)
    expect((await again.publish(to)).replaced).toBe(false)
  })

  it('leaves no temporary files, and clears those that a killed process left', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const folder = join(opened.folder, 'out')
    const to = join(folder, 'published.duckdb')
    await opened.warehouse.publish(to)
    await writeFile(join(folder, '.published.duckdb.4712.tmp'), 'left over')
    expect((await opened.warehouse.publish(to)).replaced).toBe(false)
    expect(await readdir(folder)).toEqual(['published.duckdb'])
    await writeFile(join(folder, '.published.duckdb.4711.tmp'), 'left over')
    await writeFile(join(folder, '.other.duckdb.4711.tmp'), "somebody else's")
    await load(opened, 1, 5)
    await opened.warehouse.publish(to)
    expect((await readdir(folder)).toSorted()).toEqual(['.other.duckdb.4711.tmp', RETIRED, 'published.duckdb'])
  })

  it('replaces a file that is no database', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const to = join(opened.folder, 'published.duckdb')
    await writeFile(to, 'not a database')
    expect((await opened.warehouse.publish(to)).replaced).toBe(true)
    expect(await statusesIn(to)).toEqual([])
  })

  it('that cannot be written is an error, and the warehouse stays usable', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const file = join(opened.folder, 'file')
    await writeFile(file, 'a regular file')
    await expect(opened.warehouse.publish(join(file, 'published.duckdb'))).rejects.toMatchObject({
      code: 'PUBLISH_FAILED',
    })
    await expect(opened.warehouse.publish('/proc/published.duckdb')).rejects.toMatchObject({ code: 'PUBLISH_FAILED' })
    expect(await readFile(file, 'utf8')).toBe('a regular file')
    await load(opened, 1, 5)
    expect((await opened.warehouse.publish(join(opened.folder, 'published.duckdb'))).replaced).toBe(true)
  })

  it('that fails leaves the old one as it was', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const to = join(opened.folder, 'published.duckdb')
    await load(opened, 1, 5)
    await opened.warehouse.publish(to)
    await load(opened, 1, 6)
    // A folder stands where the copy is made first: root is refused that, too.
    const blocked = join(opened.folder, `.published.duckdb.${process.pid}.tmp`)
    await mkdir(blocked)
    await writeFile(join(blocked, 'in the way'), '')
    await expect(opened.warehouse.publish(to)).rejects.toMatchObject({ code: 'PUBLISH_FAILED' })
    expect(await statusesIn(to)).toEqual([5])
  })

  it('is one committed cut each time, while loads go on', async () => {
    await using opened = await aWarehouse()
    const to = join(opened.folder, 'published.duckdb')
    await load(opened, 1, 0)
    const loading = Promise.all(Array.from({ length: 30 }, (_, n) => load(opened, 1, n + 1)))
    for (let time = 0; time < 6; time += 1) {
      await opened.warehouse.publish(to)
      await using database = await reader(to)
      const [cut] = await database.rows<Record<'parent' | 'child' | 'loads' | 'written', number>>(
        `SELECT p.status AS parent, c.status AS child, (SELECT max(load_id) FROM tidemark.loads) AS loads, greatest(p._load_id, c._load_id) AS written
         FROM main.enquiries p, main.enquiries__taxes c`,
      )
      expect(cut?.parent).toBe(cut?.child)
      expect(cut?.written).toBeLessThanOrEqual(cut?.loads ?? 0)
    }
    await loading
  })
})
