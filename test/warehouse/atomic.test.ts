/**
 * A load is one transaction: whatever stops it, nothing of it stays, and the next one finds all as it was (contract §2,
 * §5.3).
 */
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enquiryAuditEntries } from '../../schema/reports/enquiryAuditEntries.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { events } from '../../schema/reports/events.ts'
import type { Declaration } from '../../schema/index.ts'
import { plusMs } from '../../src/instant.ts'
import { readNumberPrefix } from '../../src/warehouse/books/numberPrefix.ts'
import { migrate } from '../../src/warehouse/books/layout.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import type { Sql } from '../../src/warehouse/database/sql.ts'
import { Fences } from '../../src/warehouse/books/fences.ts'
import { load } from '../../src/warehouse/load/load.ts'
import type { AuditLoad, ChangesLoad, LoadInput } from '../../src/warehouse/load/loadInput.ts'
import { markOf } from '../support/held.ts'
import {
  aClosedWindow,
  aFolder,
  loadRows,
  NOON,
  type OpenWarehouse,
  aWarehouse,
  segmentOf,
} from '../support/warehouse.ts'

class Stopped extends Error {}

/** Whether the load failed for that alone, in whatever error it tells so. */
const wasStopped = (outcome: unknown): boolean =>
  outcome instanceof Error && (outcome instanceof Stopped || wasStopped(outcome.cause))

/** A database that stops at one statement, counted from the first; the statements before it really ran. */
class Stopping {
  statements = 0
  readonly #database: Database
  readonly #stopAt: number

  constructor(database: Database, stopAt: number) {
    this.#database = database
    this.#stopAt = stopAt
  }

  /** As the load sees it: the same methods, each of which may be the one that stops. */
  asDatabase(): Database {
    return Object.assign(Object.create(this.#database) as Database, {
      ...this.#counting(this.#database),
      transaction: <T>(work: (sql: Sql) => Promise<T>) =>
        this.#database.transaction((sql) => work(this.#counting(sql))),
    })
  }

  #counting(sql: Sql): Sql {
    return {
      run: async (...statement) => {
        this.#count()
        await sql.run(...statement)
      },
      rows: async (...statement) => {
        this.#count()
        return sql.rows(...statement)
      },
      cachedRows: async (...statement) => {
        this.#count()
        return sql.cachedRows(...statement)
      },
      rowsInOrder: async (...statement) => {
        this.#count()
        return sql.rowsInOrder(...statement)
      },
    }
  }

  #count(): void {
    this.statements += 1
    if (this.statements === this.#stopAt) throw new Stopped(`statement ${this.#stopAt}`)
  }
}

interface Bench extends AsyncDisposable {
  readonly database: Database
  readonly opened: OpenWarehouse
}

/** A bare database with a warehouse's layout, so that a test can stand between it and a load. */
async function aBench(): Promise<Bench> {
  const folder = await aFolder()
  const database = await Database.open(':memory:', { memory: '512MB', threads: 1 })
  const mark = await database.transaction(async (sql) => {
    await migrate(sql, ':memory:')
    return readNumberPrefix(sql)
  })
  const warehouse = { numberPrefix: mark } as OpenWarehouse['warehouse']
  return {
    database,
    opened: {
      warehouse,
      folder: folder.path,
      path: ':memory:',
      [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
    },
    [Symbol.asyncDispose]: async () => {
      await database.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** Everything of a report that a reader could see: rows, books, columns, views. */
async function everything({ database }: Bench, { name: report }: Declaration): Promise<string> {
  const tables = await database.rows<{ name: string }>(
    `SELECT schema_name || '."' || table_name || '"' AS name FROM duckdb_tables() WHERE schema_name = 'tidemark' OR (schema_name = 'main' AND table_name LIKE '${report}%' AND NOT temporary) ORDER BY ALL`,
  )
  // One statement for all tables, without an aggregate: it runs after each statement at which a load is stopped.
  const rows = tables.map(({ name }) => `SELECT '${name}' AS name, t::VARCHAR AS held FROM ${name} t`)
  const contents = await database.rows(`FROM (${rows.join(' UNION ALL ')}) ORDER BY ALL`)
  const columns = await database.rows(
    `SELECT schema_name, table_name, column_name, data_type FROM duckdb_columns() WHERE schema_name IN ('main', 'current') AND table_name LIKE '${report}%' AND database_name = current_database() ORDER BY ALL`,
  )
  return JSON.stringify([contents, columns])
}

interface Case {
  readonly what: string
  readonly report: Declaration
  readonly before: readonly object[]
  readonly rows: readonly object[]
  readonly more: Pick<ChangesLoad, 'kind' | 'followers'> | Pick<AuditLoad, 'kind' | 'entryWindows' | 'audited'>
  /** Rows of the table at the end. */
  readonly held: number
}

const CASES: readonly Case[] = [
  {
    what: 'rows with items, of which some are refused',
    report: events,
    held: 2,
    before: [{ eventId: 1, name: 'a', old: 1, meetingRooms: [{ id: 1 }, { id: 2 }], commission: { id: 1 } }],
    rows: [
      { eventId: 1, name: 'b', old: 'wide', fresh: true, meetingRooms: [{ id: 1, v: 2 }], commission: null },
      { eventId: 2, isDeleted: true },
      { eventId: 'odd' },
      { town: 'keyless' },
    ],
    more: { kind: 'changes', followers: [{ report: 'audit_entries', scopePrefix: '3:', settleMs: 1_000 }] },
  },
  {
    what: 'rows that are all new',
    report: enquiries,
    held: 3,
    before: [{ enquiryId: 1 }],
    rows: [{ enquiryId: 2, fresh: true }, { enquiryId: 3 }],
    more: { kind: 'changes' },
  },
  {
    what: 'rows that were tried as new, in vain',
    report: enquiries,
    held: 2,
    before: [{ enquiryId: 1 }],
    rows: [{ enquiryId: 1, fresh: true }, { enquiryId: 2 }, { enquiryId: 2, fresh: 7 }],
    more: { kind: 'changes' },
  },
  {
    what: 'entries of an audit trail',
    report: enquiryAuditEntries,
    held: 1,
    before: [{ action: 'a', timestamp: '2026-03-01T12:00:00Z' }],
    rows: [{ action: 'b', timestamp: '2026-03-01T12:00:00Z', more: 1 }],
    more: {
      kind: 'audit',
      entryWindows: [{ record: [1], since: NOON, until: plusMs(NOON, 1_000) }],
      audited: [{ scope: '1', at: NOON }],
    },
  },
]

describe.each(CASES)('a load of $what', ({ report, before, rows, more, held }) => {
  let bench: Bench
  const inputOf = async (sent: readonly object[], minute: number): Promise<LoadInput> => {
    const observedAt = plusMs(NOON, minute * 60_000)
    const marks = [{ mark: 'modified_since', value: observedAt }] as const
    return {
      report,
      runId: `run-${minute}`,
      now: NOON,
      segment: await segmentOf(bench.opened, report, [{ rows: sent, observedAt }]),
      closes: [aClosedWindow({ since: NOON, until: observedAt, marks })],
      ...more,
      run: {
        runId: `run-${minute}`,
        report: 'events',
        kind: 'incremental',
        state: 'done',
        startedAt: NOON,
        endedAt: NOON,
        pages: 1,
        rows: 4,
        inserted: 0,
        updated: 0,
        deleted: 0,
        rejected: 0,
        misfits: 0,
      },
    }
  }
  const attempt = async (stopAt: number, input: LoadInput) => {
    const stopping = new Stopping(bench.database, stopAt)
    const place = { numberPrefix: bench.opened.warehouse.numberPrefix, fences: new Fences() }
    const outcome = await load({ ...place, database: stopping.asDatabase() }, input).catch((error: unknown) => error)
    return { outcome, statements: stopping.statements }
  }

  beforeAll(async () => {
    bench = await aBench()
    await attempt(0, await inputOf(before, 0))
  })
  afterAll(() => bench[Symbol.asyncDispose]())

  it('that is stopped at any statement leaves nothing behind, and done again it is whole', async () => {
    const untouched = await everything(bench, report)
    const input = await inputOf(rows, 1)
    let stopAt = 1
    for (; ; stopAt += 1) {
      const { outcome } = await attempt(stopAt, input)
      if (!wasStopped(outcome)) break
      // What stops behind the COMMIT (the check that it took, the temporary tables) comes too late to undo it.
      const now = await everything(bench, report)
      if (now !== untouched) {
        expect(stopAt, 'stopped behind COMMIT').toBeGreaterThan(8)
        break
      }
    }
    expect(stopAt).toBeGreaterThan(15)
    const after = await everything(bench, report)
    expect(after).not.toBe(untouched)
    expect(after).toContain('run-1')
    await attempt(0, await inputOf(rows, 1))
    expect(await bench.database.rows(`SELECT count(*) AS n FROM main."${report.name}"`)).toEqual([{ n: held }])
  })
})

describe('a load that fails inside DuckDB', () => {
  it('leaves rows, columns, books and mark as they were, and the warehouse usable', async () => {
    await using opened = await aWarehouse()
    const { warehouse } = opened
    await loadRows(opened, events, [{ eventId: 1, name: 'a' }])
    await warehouse.rows('DROP VIEW current.events__meeting_rooms')
    await warehouse.rows('DROP TABLE main.events__meeting_rooms')
    const closes = [aClosedWindow({ since: NOON, marks: [{ mark: 'modified_since', value: NOON }] })]
    const poisoned = loadRows(
      opened,
      events,
      [{ eventId: 2, fresh: 1, meetingRooms: [{ id: 1 }] }, { eventId: 'odd' }],
      { closes },
    )
    await expect(poisoned).rejects.toMatchObject({ name: 'SyncError' })
    expect(await markOf({ warehouse }, 'events')).toBeUndefined()
    for (const [table, rows] of [
      ['main.events', 1],
      ['tidemark.loads', 1],
      ['tidemark.windows', 0],
      ['tidemark.rejected_rows', 0],
      ['tidemark.columns', 0],
      ['tidemark.schema_changes', 0],
    ] as const) {
      expect(await warehouse.rows(`SELECT count(*) AS rows FROM ${table}`), table).toEqual([{ rows }])
    }
    expect(await loadRows(opened, events, [{ eventId: 2, fresh: 'now text' }], { closes })).toMatchObject({
      loadId: 2,
      inserted: 1,
    })
    expect(await markOf({ warehouse }, 'events')).toBe(NOON)
  })

  it('or is interrupted, leaves nothing, and the next one is done', async () => {
    await using opened = await aWarehouse()
    const rows = Array.from({ length: 20_000 }, (_, eventId) => ({ eventId, name: `event ${eventId}` }))
    await fc.assert(
      fc.asyncProperty(fc.nat(12), async (turns) => {
        const loading = loadRows(opened, events, rows).then(
          () => 'done',
          (error: { code?: string }) => error.code,
        )
        for (let turn = 0; turn < turns * 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
        opened.warehouse.interrupt()
        const outcome = await loading
        const [held] = await opened.warehouse.rows<{ rows: number; loads: number }>(
          'SELECT (SELECT count(*) FROM main.events) AS rows, (SELECT count(*) FROM tidemark.loads) AS loads',
        )
        expect(['done', 'CANCELLED']).toContain(outcome)
        expect([0, 20_000]).toContain(held?.rows)
        expect(held?.rows === 0).toBe(held?.loads === 0)
      }),
      { numRuns: 6 },
    )
    expect(await loadRows(opened, events, rows)).toMatchObject({ rows: 20_000 })
  })
})

async function loadRow({ opened }: Bench, database: Database, row: object) {
  const segment = await segmentOf(opened, enquiries, [{ rows: [row], observedAt: NOON }])
  const input = { kind: 'changes', report: enquiries, runId: 'run', now: NOON, segment, closes: [] } as const
  return load({ database, numberPrefix: opened.warehouse.numberPrefix, fences: new Fences() }, input)
}

describe('a load whose columns another loader changes before it commits', () => {
  let others = 0
  /** Looks like a lake in which another loader adds a column before each of the first transactions. */
  const changedBefore = (bench: Bench, times: number): Database => {
    const { database } = bench
    const methods = ['run', 'rows', 'cachedRows', 'rowsInOrder'] as const
    return Object.assign(Object.create(database) as Database, {
      isShared: true,
      ...Object.fromEntries(methods.map((method) => [method, database[method].bind(database)])),
      transaction: async <T>(work: (sql: Sql) => Promise<T>) => {
        const number = (others += 1)
        if (number <= times) await loadRow(bench, database, { enquiryId: 100 + number, [`other${number}`]: 1 })
        return database.transaction(work)
      },
    })
  }

  it('is planned again', async () => {
    others = 0
    await using bench = await aBench()
    expect(await loadRow(bench, changedBefore(bench, 2), { enquiryId: 1, own: 'x', other1: 2 })).toMatchObject({
      inserted: 1,
      changes: [{ change: { change: 'added', column: { name: 'own' } } }],
    })
    expect(await bench.database.rows('SELECT own, other1 FROM enquiries WHERE enquiry_id = 1')).toEqual([
      { own: 'x', other1: 2 },
    ])
  })

  it('fails with LAKE_BUSY after ten times, and stores nothing', async () => {
    others = 0
    await using bench = await aBench()
    await expect(loadRow(bench, changedBefore(bench, 10), { enquiryId: 1 })).rejects.toMatchObject({
      code: 'LAKE_BUSY',
    })
    expect(await bench.database.rows('SELECT count(*) AS rows FROM enquiries WHERE enquiry_id = 1')).toEqual([
      { rows: 0 },
    ])
  })
})
