/** Measures the least possible cost of a first sync. One process downloads the pages, and another loads the rows. */
import { createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { DuckDBInstance } from '@duckdb/node-api'
import { Pool } from 'undici'
import { events } from '../../schema/reports/events.ts'
import { tableOf } from '../../schema/tables.ts'

export interface FloorDone {
  readonly ms: number
  /** Processor time on all cores. */
  readonly cpuMs: number
  readonly peakMb: number
}

const UNDOCUMENTED = {
  bookerName: 'VARCHAR',
  budgetAmount: 'DECIMAL(38,9)',
  budgetCurrency: 'VARCHAR',
  isVip: 'BOOLEAN',
  notes: 'VARCHAR',
  arrivalTime: 'VARCHAR',
  costEstimate: 'DECIMAL(38,9)',
  tags: 'JSON',
  venueContact: 'JSON',
}
const PAGE_ROWS = 1_000
const LANES = 4

const [, , what = '', place = '', count = '0'] = process.argv
const table = tableOf(events)

async function eachPage(url: string, rows: number, take: (page: Buffer) => void): Promise<void> {
  const pool = new Pool(url, { connections: LANES, pipelining: 1 })
  let next = 1
  const lane = async () => {
    for (let number = next++; (number - 1) * PAGE_ROWS < rows; number = next++) {
      const body = JSON.stringify({ pageNumber: number, pageSize: PAGE_ROWS })
      const answer = await pool.request({ path: '/reportingapi/events', method: 'POST', body })
      const pieces: Buffer[] = []
      for await (const piece of answer.body) pieces.push(piece as Buffer)
      take(Buffer.concat(pieces))
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  await pool.close()
}

/** Writes the file that the load reads. */
async function fill(url: string, file: string, rows: number): Promise<void> {
  const out = createWriteStream(file)
  await eachPage(url, rows, (page) => {
    for (let at = page.indexOf('},{"eventId"'); at >= 0; at = page.indexOf('},{"eventId"', at + 1)) page[at + 1] = 0x0a
    out.write(page.subarray(1, -1))
    out.write('\n')
  })
  out.end()
  await once(out, 'finish')
}

async function createTables(folder: string, withCollections: boolean): Promise<void> {
  const children = withCollections ? table.children : []
  const instance = await DuckDBInstance.create(`${folder}/floor.duckdb`, {
    memory_limit: '4GB',
    temp_directory: `${folder}/floor.spill`,
    preserve_insertion_order: 'false',
  })
  const connection = await instance.connect()
  const documented = Object.fromEntries(table.fields.map((column) => [column.sources[0] as string, column.type]))
  const scalars = Object.entries({ ...documented, isDeleted: 'BOOLEAN', ...UNDOCUMENTED })
  const nested = children.map((child) => [child.field, child.holds === 'many' ? 'JSON[]' : 'JSON'] as const)
  const columns = [...scalars, ...nested].map(([name, type]) => `"${name}": '${type}'`).join(', ')
  await connection.run(`
    CREATE TABLE events AS SELECT * FROM read_json('${folder}/rows.ndjson', format = 'newline_delimited', columns = {${columns}})`)
  for (const { name, field, holds } of children) {
    await connection.run(
      holds === 'many'
        ? `CREATE TABLE "${name}" AS SELECT "eventId", generate_subscripts("${field}", 1) - 1 AS position, unnest("${field}") AS payload FROM events`
        : `CREATE TABLE "${name}" AS SELECT "eventId", 0 AS position, "${field}" AS payload FROM events WHERE "${field}" IS NOT NULL`,
    )
  }
  await connection.run('CHECKPOINT')
  connection.closeSync()
  instance.closeSync()
  await rm(`${folder}/floor.duckdb`)
}

const from = performance.now()
if (what === 'fill') await fill(place, process.argv[5] ?? '', Number(count))
else if (what === 'download') await eachPage(place, Number(count), () => undefined)
else await createTables(place, what === 'create-all')
const { user, system } = process.cpuUsage()
const done: FloorDone = {
  ms: performance.now() - from,
  cpuMs: (user + system) / 1_000,
  peakMb: process.resourceUsage().maxRSS / 1_000,
}
process.send?.(done)
