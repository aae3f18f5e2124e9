/** A move continues after it was stopped, compares what it copied, and until its end nobody opens the target. */
import path from 'node:path'
import { expect, it } from 'vitest'
import { asSyncError } from '../../src/errors.ts'
import { openWarehouseToRead } from '../../src/wiring/published.ts'
import { loadConfig } from '../../src/config/config.ts'
import { SOURCE } from '../../src/warehouse/load/move.ts'
import { Warehouse, type WarehouseSettings } from '../../src/warehouse/warehouse.ts'
import { REQUIRED_ENV } from '../config/folder.ts'
import { aFolder } from '../support/warehouse.ts'

const memory = '256MB'

interface TwoFiles extends AsyncDisposable {
  readonly folder: string
  readonly to: string
  /** Moves the source into the target, and returns the tables that were copied. */
  attempt(options?: Attempt): Promise<string[]>
}

interface Attempt extends Pick<WarehouseSettings, 'around' | 'movedFrom'> {
  readonly onOpen?: (target: Warehouse) => void
  readonly onTable?: (table: string) => void
}

/** A warehouse with 100 events and a budget, and the path of another one. */
async function twoFiles(): Promise<TwoFiles> {
  const folder = await aFolder()
  const [from, to] = ['from.duckdb', 'to.duckdb'].map((each) => path.join(folder.path, each)) as [string, string]
  await using source = await Warehouse.open({ path: from, memory })
  await source.rows(`INSERT INTO main.events BY NAME SELECT range AS event_id, false AS is_deleted FROM range(100)`)
  await source.rows(`INSERT INTO main.budgets BY NAME SELECT 1 AS budget_id, false AS is_deleted`)
  const { numberPrefix } = source
  return {
    folder: folder.path,
    to,
    attempt: async ({ onOpen, onTable, ...options } = {}) => {
      await using target = await Warehouse.open({ path: to, memory, movedFrom: numberPrefix, ...options })
      onOpen?.(target)
      await target.rows(`ATTACH '${from}' AS ${SOURCE} (READ_ONLY)`)
      const moved = await target.move(({ table }) => onTable?.(table))
      return moved.filter(({ copied }) => copied).map(({ table }) => table)
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

function stopAtEnquiries(table: string): void {
  if (table === 'main.enquiries') throw new TypeError('stopped')
}

const codeOf = (failing: Promise<unknown>) =>
  failing.then(
    () => 'nothing failed',
    (error: unknown) => asSyncError(error).code,
  )

it('continues after a stop with the tables that are missing, and nobody opens the target before its end', async () => {
  await using files = await twoFiles()
  await expect(files.attempt({ onTable: stopAtEnquiries })).rejects.toThrow('stopped')
  const config = await loadConfig({ env: { ...REQUIRED_ENV, TIDEMARK_WAREHOUSE: files.to }, cwd: files.folder })
  expect(await codeOf(openWarehouseToRead(config))).toBe('MOVE_UNFINISHED')
  expect(await codeOf(Warehouse.open({ path: files.to, memory }))).toBe('MOVE_UNFINISHED')
  expect(await codeOf(files.attempt({ movedFrom: '~of another warehouse~' }))).toBe('USAGE_INVALID')
  expect(await files.attempt()).toEqual(['main.events'])
  expect(await codeOf(files.attempt())).toBe('USAGE_INVALID')
  await using target = await Warehouse.open({ path: files.to, memory })
  expect(await target.rows('SELECT count(*) AS n FROM current.events')).toEqual([{ n: 100 }])
})

it('fails if a table differs after it was copied, and the next attempt copies this table again', async () => {
  await using files = await twoFiles()
  let target: Warehouse | undefined
  let damage: Promise<unknown> | undefined
  const around: WarehouseSettings['around'] = (sql, run) => {
    // This statement waits for the end of the transaction, and runs before the comparison.
    if (sql.includes('INSERT INTO "main"."events"'))
      damage = target?.rows(`UPDATE main.events SET event_id = 7 WHERE event_id = 8`)
    return run()
  }
  expect(await codeOf(files.attempt({ around, onOpen: (opened) => (target = opened) }))).toBe('MOVE_UNFINISHED')
  await damage
  expect(await files.attempt()).toEqual(['main.events'])
})

it('changes nothing after another move has filled the target', async () => {
  await using files = await twoFiles()
  let target: Warehouse | undefined
  let changed: Promise<unknown> | undefined
  const attempt = files.attempt({
    onOpen: (opened) => (target = opened),
    // The other move ends, and a sync loads a newer row, before this move has copied the events.
    onTable: (table) => {
      if (table !== 'main.enquiries') return
      changed = target?.rows(`
        DELETE FROM tidemark.layout WHERE version = 1000000;
        INSERT INTO main.events BY NAME SELECT 777 AS event_id, false AS is_deleted`)
    },
  })
  expect(await codeOf(attempt)).toBe('USAGE_INVALID')
  await changed
  await using filled = await Warehouse.open({ path: files.to, memory })
  expect(await filled.rows('SELECT event_id FROM main.events')).toEqual([{ event_id: 777 }])
})
