/** A warehouse with everything that a move must bring: history, deletions, rejected rows, new fields, a report of one's own. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'vitest'
import { dateTime, defineReport, integer, many, string } from '../../schema/report.ts'
import { systemClock } from '../../src/clock.ts'
import { formatInstant, HOUR_MS, minusMs } from '../../src/instant.ts'
import type { WorldReport } from '../../src/sandbox/server.ts'
import { loadConfig } from '../../src/config/config.ts'
import { catalogueOf, type CatalogueTable } from '../../src/warehouse/database/catalogue.ts'
import { name, names } from '../../src/warehouse/database/sql.ts'
import { openWarehouseToRead } from '../../src/wiring/published.ts'
import { aWorld, SECRET_TEXT, type World } from './support.ts'

const OWN = defineReport({
  name: 'menu_cards',
  meaning: 'Menu cards',
  path: '/v2/Menus/Cards',
  answer: 'array',
  scope: 'menu.read',
  key: ['card_id'],
  fields: { cardId: integer('Unique card identifier'), title: string('Title'), changedAt: dateTime('Last change') },
  newerBy: ['changed_at'],
  window: { since: 'since', until: 'until', required: false },
  deletes: 'absence',
  expand: { dishes: many('dishes') },
})

/** Reports that a story syncs: with history, with rejected rows, with currencies, and of one's own. */
export const MOVED = ['events', 'enquiries', 'budgets', 'audit_entries', OWN.name]

export interface MovableWorld extends World {
  /** Runs a command that must end with 0. Returns its output. */
  done(...args: string[]): Promise<string>
  /** Everything in a warehouse, by table and view, without what each warehouse has of its own. */
  content(settings: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>
  /** Syncs all reports. Returns requests for rows from before this world, and how many rows each report wrote. */
  sync(): Promise<{ readonly old: readonly string[]; readonly written: readonly string[] }>
}

export async function aMovableWorld(warehouse: Readonly<Record<string, unknown>>): Promise<MovableWorld> {
  const world = await aWorld({ sandbox: { rows: 30, declared: [OWN], faults: ['bad-rows@enquiries:9'] } })
  await writeFile(path.join(world.folder, 'own.mjs'), `export const report = ${JSON.stringify(OWN)}`)
  const base = {
    reports_from: 'own.mjs',
    defaults: { page_size: 20 },
    reports: {
      events: { history: true },
      audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] },
      [OWN.name]: { history: true },
    },
  }
  const configure = (settings: Readonly<Record<string, unknown>>) => world.configure({ ...base, ...settings })
  const done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await world.run(...args)
    expect(code, `tidemark ${args.join(' ')}\n${stdout}${stderr}`).toBe(0)
    return stdout
  }
  const from = formatInstant(minusMs(systemClock.now(), HOUR_MS))
  const movable: MovableWorld = {
    ...world,
    configure,
    done,
    content: async (settings) => {
      await configure(settings)
      return contentOf(world)
    },
    sync: async () => {
      world.sandbox.requests.clear()
      const { reports } = JSON.parse(await done('sync', ...MOVED, '--json', '--quiet')) as {
        reports: Record<'report' | 'new' | 'changed' | 'deleted', unknown>[]
      }
      return {
        old: world.sandbox.requests.list().flatMap(({ body }) => (isForOldRows(body, from) ? [body] : [])),
        written: reports.map((each) => [each.report, each.new, each.changed, each.deleted].join(' ')),
      }
    },
  }
  await configure(warehouse)
  await movable.sync()
  change(movable)
  await movable.sync()
  await done('reconcile', 'budgets', OWN.name, '--quiet')
  await done('backfill', 'events', '--from', '2020-01-01', '--to', '2021-01-01', '--quiet')
  await done('pause', 'budgets')
  await done('resume', 'budgets')
  return movable
}

/** Returns whether the request asks for a page of rows, and not only for changes after `from`. */
function isForOldRows(body: string, from: string): boolean {
  const asked = (body === '' ? {} : JSON.parse(body)) as Readonly<Record<string, string | number | undefined>>
  const since = asked['modifiedSince'] ?? asked['createdSince'] ?? asked['since'] ?? ''
  return Number(asked['pageSize'] ?? 0) > 1 && String(since) < from
}

/** Edits, deletes, inserts, and adds fields that no declaration has. */
export function change({ sandbox: { world } }: Pick<World, 'sandbox'>): void {
  const [first = 0, second = 0, third = 0] = world.liveKeys('events')
  world.edit('events', first)
  world.softDelete('events', second)
  world.putRow('events', third, { 'a new field': '"of text"', anotherField: '12345678901234567890.123456789' })
  const own = OWN.name as WorldReport
  world.edit(own, Number(world.liveKeys(own)[0]))
  world.insert(own)
}

async function contentOf({ folder }: World): Promise<Record<string, unknown>> {
  const config = await loadConfig({ cwd: folder, env: { REPORTING_CLIENT_SECRET: SECRET_TEXT } })
  await using database = await openWarehouseToRead(config)
  const content: Record<string, unknown> = {}
  for (const table of await catalogueOf(database)) {
    const at = `${table.schema}.${table.name}`
    if (['tidemark.layout', 'tidemark.settings', 'tidemark.freshness'].includes(at)) continue
    const columns = table.columns.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    const rows = await database.rows<{ row: string }>(
      `SELECT ROW(${names(columns)})::VARCHAR AS row FROM ${name(table.schema)}.${name(table.name)} ORDER BY 1`,
    )
    content[at] = { columns: describedColumns(table, columns), rows: rows.map(({ row }) => row) }
  }
  return content
}

/** A lake has no comments on columns of views, and a publication adds comments to the books. */
function describedColumns({ view, schema }: CatalogueTable, columns: CatalogueTable['columns']): readonly string[] {
  const hasComments = view === null && schema !== 'tidemark'
  return columns.map((each) => [each.name, each.type, ...(hasComments ? [each.nullable, each.comment] : [])].join(' '))
}
