/**
 * The export: what a reader gets by the manifest, what is written again, and what happens when it is stopped or
 * refused.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { type ReportName, reportNames, reports } from '../../schema/index.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { tableOf } from '../../schema/tables.ts'
import { privacyText } from '../../src/plan/privacy.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { type ExportResult, exportTo } from '../../src/warehouse/publish/export.ts'
import { filesOf, type Manifest } from '../../src/warehouse/publish/exportManifest.ts'
import { until } from '../cli/support.ts'
import { aTide } from '../support/tide.ts'
import { aWarehouse, at, loadRows, NOON, type OpenWarehouse } from '../support/warehouse.ts'

const placesOf = ({ folder }: { folder: string }) => ({
  published: join(folder, 'published.duckdb'),
  out: join(folder, 'out'),
})

/** Publishes and exports, as `tidemark sync` and `tidemark export` do one after the other. */
async function exported(opened: OpenWarehouse, wanted: readonly ReportName[] = ['enquiries']): Promise<ExportResult> {
  const { published, out } = placesOf(opened)
  await opened.warehouse.publish(published)
  await using copy = await Database.open(published, { readOnly: true, memory: '256MB' })
  return await exportTo(copy, { to: out, reports: wanted, now: NOON })
}

const manifestIn = async (out: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8')) as Manifest

/** Every table in which a reader who follows the manifest sees something else than the published copy has. */
async function differing(out: string, manifest: Manifest, published: string): Promise<string[]> {
  await using reader = await Database.open(':memory:', { memory: '256MB' })
  await reader.run(`ATTACH '${published}' AS held (READ_ONLY)`)
  const found: string[] = []
  for (const { name: label, files, rows } of manifest.tables) {
    const name = label.replace(/^history\./, '')
    const held = `held.${label === name ? 'main' : 'history'}."${name}"`
    const list = files.map(({ path }) => `'${join(out, path)}'`).join(', ')
    const [described] = await reader.rows<{ differ: number; rows: number }>(`
      WITH sent AS (FROM read_parquet([${list}])), held AS (FROM ${held})
      SELECT (SELECT count(*) FROM (FROM sent EXCEPT ALL FROM held)) + (SELECT count(*) FROM (FROM held EXCEPT ALL FROM sent)) AS differ,
        (SELECT count(*) FROM sent) AS rows`)
    const types = (from: string) => reader.rows(`SELECT column_name, column_type FROM (DESCRIBE FROM ${from})`)
    expect(await types(`read_parquet([${list}])`)).toEqual(await types(held))
    if (described?.differ !== 0 || described.rows !== rows) found.push(label)
  }
  return found
}

let minute = 0
/** Enquiries of these numbers, each with a tax, observed a minute after those before. */
function load(opened: OpenWarehouse, ids: readonly (number | bigint)[], status: number): Promise<unknown> {
  minute += 1
  const rows = ids.map((id) => `{"enquiryId":${id},"status":${status},"taxes":[{"id":1,"rate":${status}.5}]}`)
  return loadRows(opened, enquiries, `[${rows.join()}]`, {
    observedAt: at(new Date(Date.UTC(2026, 3, 1, 0, minute)).toISOString()),
  })
}

describe('an export', () => {
  it('contains every table of every report, with the values and types of the published copy', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide({ sandbox: { rows: 6 } })
    await tide.sync()
    const published = join(tide.config.published)
    const out = join(published, '../out')
    await tide.warehouse.publish(published)
    await using copy = await Database.open(published, { readOnly: true, memory: '256MB' })
    const { replaced } = await exportTo(copy, { to: out, reports: reportNames, now: NOON })
    expect(replaced).toBe(true)
    const manifest = await manifestIn(out)
    const tables = reports.map(tableOf).flatMap((table) => [table.name, ...table.children.map(({ name }) => name)])
    expect(manifest.tables.map(({ name }) => name)).toEqual(tables)
    expect(await differing(out, manifest, published)).toEqual([])
    const [events] = manifest.tables
    expect(events).toMatchObject({ report: 'events', partition: { column: 'event_id' } })
    expect(events?.files.reduce((deleted, file) => deleted + file.deleted, 0)).toBeGreaterThan(0)
    expect(events?.columns).toContainEqual({ name: 'event_id', type: 'BIGINT', comment: 'Unique event identifier' })
    expect(manifest.marks).toContainEqual(
      expect.objectContaining({ report: 'budgets', scope: 'EUR', mark: 'modified_since' }),
    )
    expect(manifest.marks.filter(({ report }) => report === 'audit_entries')).toHaveLength(1)
  })

  it('writes again only the ranges whose rows changed', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    await load(opened, [1, 2, 150_000, 990_000], 1)
    const first = await exported(opened)
    expect(first.written.size).toBe(filesOf(first.manifest).length)
    await load(opened, [150_000], 2)
    const second = await exported(opened)
    expect([...second.written].toSorted()).toEqual([
      'enquiries/100000-199999.2.parquet',
      'enquiries__taxes/100000-199999.2.parquet',
    ])
    const { out, published } = placesOf(opened)
    expect(await differing(out, await manifestIn(out), published)).toEqual([])
  })

  it('contains no value of a column that became private, even of rows that the service no longer sends', {
    tags: 'long',
  }, async () => {
    await using opened = await aWarehouse()
    await loadRows(opened, enquiries, [{ enquiryId: 1, bookerEmail: 'ann@x.org', bookerCompany: 'Ann Ltd' }])
    const place = { report: 'enquiries', scope: '' } as const
    const found: unknown[] = []
    for (const dropped of [['booker_email'], ['booker_email', 'booker_company']]) {
      const columns = privacyText(
        { columns: Object.fromEntries(dropped.map((each) => [each, 'drop'])), excludePayload: false },
        undefined,
      )
      const asked = { start: NOON, filters: {}, expand: [], ...(columns === undefined ? {} : { columns }) }
      await opened.warehouse.recordCoverage(place, { settings: asked, refillUntil: undefined, because: [] })
      await load(opened, [150_000], dropped.length)
      const { manifest } = await exported(opened)
      found.push(await differing(placesOf(opened).out, manifest, placesOf(opened).published))
    }
    expect(found).toEqual([[], []])
  })

  it('contains every version where history is on, and writes a range again when one of its versions ends', {
    tags: 'long',
  }, async () => {
    await using opened = await aWarehouse()
    const history = (on: boolean) =>
      opened.warehouse.recordReportStates([
        { report: 'enquiries', enabled: true, offReason: undefined, history: { on, now: NOON } },
      ])
    await history(true)
    await load(opened, [1, 2, 150_000], 1)
    await exported(opened)
    await load(opened, [2], 2)
    const { manifest, written } = await exported(opened)
    expect(manifest.tables.find(({ name }) => name === 'history.enquiries')).toMatchObject({ rows: 4 })
    expect([...written].filter((path) => path.startsWith('history.enquiries/'))).toHaveLength(1)
    const { published, out } = placesOf(opened)
    expect(await differing(out, manifest, published)).toEqual([])
    // Nothing but the end of the open versions tells this state from the one before.
    await history(false)
    await load(opened, [3], 1)
    const ended = await exported(opened)
    expect(await differing(out, ended.manifest, published)).toEqual([])
  })

  it('is left alone when nothing changed', async () => {
    await using opened = await aWarehouse()
    await load(opened, [1], 1)
    await exported(opened)
    const before = await readFile(join(placesOf(opened).out, 'manifest.json'), 'utf8')
    expect(await exported(opened)).toMatchObject({ replaced: false })
    expect(await readFile(join(placesOf(opened).out, 'manifest.json'), 'utf8')).toBe(before)
  })

  it('writes a table again as a whole when a column was added, and only that table', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    await load(opened, [1, 150_000], 1)
    await exported(opened)
    await loadRows(opened, enquiries, [{ enquiryId: 7, status: 1, brandNew: 1.25 }])
    const { written } = await exported(opened)
    expect([...written].toSorted()).toEqual(['enquiries/0-99999.2.parquet', 'enquiries/100000-199999.2.parquet'])
    const { out, published } = placesOf(opened)
    expect(await differing(out, await manifestIn(out), published)).toEqual([])
  })

  it('keeps the files of the manifest before for its readers, and no longer', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const { out } = placesOf(opened)
    const file = (generation: number) => join(out, `enquiries/0-99999.${generation}.parquet`)
    for (const status of [1, 2]) {
      await load(opened, [1], status)
      await exported(opened)
    }
    const there = () => [1, 2, 3].filter((generation) => existsSync(file(generation)))
    expect(there()).toEqual([1, 2])
    // A manifest that only moves marks takes nobody's files away.
    await opened.warehouse.recordReportStates([{ report: 'events', enabled: false, offReason: 'off' }])
    expect(await exported(opened)).toMatchObject({ replaced: true, manifest: { generation: 3 } })
    expect(there()).toEqual([1, 2])
    await load(opened, [1], 4)
    await exported(opened)
    expect([...there(), ...(existsSync(file(4)) ? [4] : [])]).toEqual([2, 4])
  })

  it('takes keys of any size and any gaps in few files', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const far = Array.from({ length: 300 }, (_, n) => BigInt(n) * 10n ** 15n)
    await load(opened, [...far, -5, 2n ** 63n - 1n, -(2n ** 63n)], 1)
    const { manifest } = await exported(opened)
    const table = manifest.tables.find(({ name }) => name === 'enquiries')
    expect(table?.rows).toBe(303)
    expect(table?.files.length).toBeLessThanOrEqual(200)
    const { out, published } = placesOf(opened)
    expect(await differing(out, manifest, published)).toEqual([])
  })

  it('of some reports can grow by others but loses none', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    await exported(opened, ['enquiries'])
    const grown = await exported(opened, ['enquiries', 'events'])
    expect(new Set(grown.manifest.tables.map(({ report }) => report))).toEqual(new Set(['enquiries', 'events']))
    await expect(exported(opened, ['events'])).rejects.toMatchObject({
      code: 'EXPORT_REFUSED',
      message: expect.stringContaining('also holds enquiries') as string,
    })
  })
})

describe('an export is refused, and nothing is touched,', () => {
  it('in a folder that contains other files', async () => {
    await using opened = await aWarehouse()
    const { out } = placesOf(opened)
    await mkdir(out)
    await writeFile(join(out, 'thesis.txt'), 'dear')
    await expect(exported(opened)).rejects.toMatchObject({ code: 'EXPORT_REFUSED' })
    expect(await readdir(out)).toEqual(['thesis.txt'])
  })

  it('where there is a file of that name', async () => {
    await using opened = await aWarehouse()
    await writeFile(placesOf(opened).out, 'a file')
    await expect(exported(opened)).rejects.toMatchObject({ code: 'EXPORT_FAILED' })
    expect(await readFile(placesOf(opened).out, 'utf8')).toBe('a file')
  })

  it('in the folder of another warehouse', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    await using other = await aWarehouse({ ownIdentity: true })
    await exported(other)
    const { out } = placesOf(other)
    await opened.warehouse.publish(placesOf(opened).published)
    await using copy = await Database.open(placesOf(opened).published, { readOnly: true, memory: '256MB' })
    await expect(exportTo(copy, { to: out, reports: ['enquiries'], now: NOON })).rejects.toMatchObject({
      code: 'EXPORT_REFUSED',
      message: expect.stringContaining('another warehouse') as string,
    })
    expect((await manifestIn(out)).generation).toBe(1)
  })

  it('over a manifest that it did not write', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    await exported(opened)
    const { out } = placesOf(opened)
    for (const text of ['{"format":"tidemark-export","version":2}', 'torn {']) {
      await writeFile(join(out, 'manifest.json'), text)
      await load(opened, [1], 1)
      await expect(exported(opened)).rejects.toMatchObject({ code: 'EXPORT_REFUSED' })
      expect(await readFile(join(out, 'manifest.json'), 'utf8')).toBe(text)
    }
  })

  it('while another one writes there; one that died is no hindrance', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    await exported(opened)
    const lock = join(placesOf(opened).out, '.tidemark-export.lock')
    await writeFile(lock, JSON.stringify({ pid: process.pid, host: hostname() }))
    await expect(exported(opened)).rejects.toMatchObject({ code: 'EXPORT_REFUSED', data: { pid: process.pid } })
    await writeFile(lock, JSON.stringify({ pid: process.pid, host: 'elsewhere' }))
    await expect(exported(opened)).rejects.toMatchObject({ code: 'EXPORT_REFUSED' })
    const dead = spawn(process.execPath, ['-e', ''])
    await once(dead, 'exit')
    await writeFile(lock, JSON.stringify({ pid: dead.pid, host: hostname() }))
    await load(opened, [1], 1)
    expect(await exported(opened)).toMatchObject({ replaced: true })
    expect(existsSync(lock)).toBe(false)
  })
})

describe('an export that does not end', () => {
  it('leaves the one before whole when something cannot be written', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const { out, published } = placesOf(opened)
    await load(opened, [1, 150_000], 1)
    const { manifest } = await exported(opened)
    await load(opened, [1, 150_000], 2)
    const kept = join(opened.folder, 'kept.duckdb')
    await writeFile(kept, await readFile(published))
    // A folder stands where the second of the two new files goes: root is refused that, too.
    await mkdir(join(out, 'enquiries/100000-199999.2.parquet/in the way'), { recursive: true })
    await expect(exported(opened)).rejects.toMatchObject({ code: 'EXPORT_FAILED' })
    expect(await manifestIn(out)).toMatchObject({ generation: 1 })
    expect(await differing(out, manifest, kept)).toEqual([])
    await rm(join(out, 'enquiries/100000-199999.2.parquet'), { recursive: true })
    expect(await exported(opened)).toMatchObject({ replaced: true })
  })

  it('but is killed leaves the one before whole, and the next one clears its traces', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    const { out, published } = placesOf(opened)
    const ids = Array.from({ length: 40 }, (_, n) => n * 100_000)
    // The first one is killed, too: then there is no manifest yet, and the folder is still known as its own.
    for (const status of [1, 2]) {
      await load(opened, ids, status)
      await opened.warehouse.publish(published)
      const before = existsSync(join(out, 'manifest.json')) ? await manifestIn(out) : undefined
      await killedExport(out, published, status)
      const after = existsSync(join(out, 'manifest.json')) ? await manifestIn(out) : undefined
      expect(after?.generation).toBe(before?.generation)
      for (const file of before === undefined ? [] : filesOf(before))
        expect(existsSync(join(out, file)), file).toBe(true)
      await appendFile(join(out, 'enquiries', `0-99999.${status + 7}.parquet`), 'torn')
      const { manifest } = await exported(opened)
      expect(await differing(out, await manifestIn(out), published)).toEqual([])
      const there = (await readdir(out, { recursive: true })).filter((name) => name.endsWith('.parquet'))
      expect(there.toSorted()).toEqual([...filesOf(manifest), ...manifest.retired].toSorted())
    }
  })
})

const module = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)))

/** Exports in a process of its own and kills it as soon as some files of this generation are there. */
async function killedExport(out: string, published: string, generation: number): Promise<void> {
  const program = `
    const { Database } = await import(${module('warehouse/database/duckdb.ts')})
    const { exportTo } = await import(${module('warehouse/publish/export.ts')})
    const copy = await Database.open(${JSON.stringify(published)}, { readOnly: true, memory: '256MB' })
    await exportTo(copy, { to: ${JSON.stringify(out)}, reports: ['enquiries'], now: 0 })`
  const running = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'inherit' })
  const ended = once(running, 'exit')
  const there = async () =>
    existsSync(join(out, 'enquiries')) &&
    (await readdir(join(out, 'enquiries'))).filter((name) => name.endsWith(`.${generation}.parquet`)).length >= 3
  await until(there, 'the first files')
  running.kill('SIGKILL')
  expect((await ended)[1]).toBe('SIGKILL')
}
