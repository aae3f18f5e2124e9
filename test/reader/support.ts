/** A published copy with twenty events, and a reader of it. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { reportOf } from '../../schema/index.ts'
import { openReader, type ReaderConfig } from '../../src/reader/reader.ts'
import { jsonOf } from '../../src/warehouse/database/cells.ts'
import { aWarehouse, loadRows } from '../support/warehouse.ts'

export async function aReader(given: Partial<ReaderConfig['limits']> = {}) {
  const opened = await aWarehouse()
  const published = join(opened.folder, 'published.duckdb')
  const publish = async (from = 1) => {
    const rows = Array.from({ length: 20 }, (_, index) => ({ eventId: from + index, name: `E${from + index}` }))
    await loadRows(opened, reportOf('events'), rows)
    await opened.warehouse.publish(published)
  }
  await publish()
  const limits = { queryMemory: '256MB', queryDisk: '64MB', queryTimeMs: 60_000, warehouseThreads: 1, ...given }
  const reader = openReader({ published, limits })
  return {
    folder: opened.folder,
    publish,
    reader,
    /** Returns the first rows of a statement as JSON text. */
    ask: async (sql: string, signal?: AbortSignal): Promise<string> => {
      let first = '[]'
      const take = async (rows: Parameters<Parameters<typeof reader.query>[1]>[0]) => {
        first = `[${rows.map((row) => `[${row.map(jsonOf).join(',')}]`).join(',')}]`
        return false
      }
      await reader.query(sql, take, { signal })
      return first
    },
    /** Runs statements in the published copy. */
    change: async (...statements: string[]) => {
      const instance = await DuckDBInstance.create(published)
      const connection = await instance.connect()
      for (const sql of statements) await connection.run(sql)
      connection.closeSync()
      instance.closeSync()
    },
    /** Returns the process identifiers of this copy's readers. */
    processes: async (): Promise<number[]> => {
      const all = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
      const found = await Promise.all(
        all.map(async (pid) =>
          (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).includes(`${published}.reader-`),
        ),
      )
      return all.filter((_, index) => found[index]).map(Number)
    },
    [Symbol.asyncDispose]: async () => {
      await reader[Symbol.asyncDispose]()
      await opened[Symbol.asyncDispose]()
    },
  }
}
