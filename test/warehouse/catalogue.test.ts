/**
 * What readers find out from the file itself: comments on everything, and `current` views that keep up with the tables.
 */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { reportNames } from '../../schema/index.ts'
import { enquiries } from '../../schema/reports/enquiries.ts'
import { events } from '../../schema/reports/events.ts'
import { SYSTEM_COLUMNS } from '../../schema/tables.ts'
import { catalogueOf, columnsIn } from '../../src/warehouse/database/catalogue.ts'
import { definitionSql } from '../../src/warehouse/database/catalogue.ts'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aTide } from '../support/tide.ts'
import { aWarehouse, loadRows, type OpenWarehouse, texts } from '../support/warehouse.ts'

const SYSTEM = SYSTEM_COLUMNS.map(({ name }) => name)

async function publishedCatalogue({ warehouse, folder }: Pick<OpenWarehouse, 'warehouse' | 'folder'>) {
  const path = join(folder, 'published.duckdb')
  await warehouse.publish(path)
  await using copy = await Database.open(path, { readOnly: true, memory: '256MB' })
  return await catalogueOf(copy)
}

describe('a published copy', () => {
  it('has a comment on every table, view and column, discovered ones and the books included', {
    tags: 'long',
  }, async () => {
    const reports = { events: { history: true }, budgets: { history: true } }
    await using tide = await aTide({ sandbox: { rows: 12 }, settings: { reports } })
    await tide.sync()
    const catalogue = await publishedCatalogue({ warehouse: tide.warehouse, folder: join(tide.config.published, '..') })
    expect(columnsIn(catalogue, 'history').get('events')).toContainEqual(
      expect.objectContaining({ name: 'town', comment: 'Town or city' }),
    )
    // A column of the books that is missing here wants its meaning in schema/books.ts, or in the migration.
    const bare = catalogue.flatMap(({ schema, name, comment, columns }) => [
      ...(comment === '' ? [`${schema}.${name}`] : []),
      ...columns.filter((column) => column.comment === '').map((column) => `${schema}.${name}.${column.name}`),
    ])
    expect(bare).toEqual([])
    const discovered = catalogue.flatMap(({ columns }) =>
      columns.filter(({ comment }) => comment.startsWith('Undocumented field')),
    )
    expect(discovered.length).toBeGreaterThan(100)
  })

  it('comments a view again after its table got a column', { tags: 'long' }, async () => {
    await using opened = await aWarehouse()
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 5 }])
    await publishedCatalogue(opened)
    await loadRows(opened, enquiries, [{ enquiryId: 1, status: 5, "guest's wish": 'quiet' }])
    const view = columnsIn(await publishedCatalogue(opened), 'current').get('enquiries')
    expect(view).toContainEqual(
      expect.objectContaining({
        name: 'guest_s_wish',
        comment: expect.stringMatching(/^Undocumented field guest's wish: VARCHAR, first seen .* in load 2$/) as string,
      }),
    )
    expect(view?.filter(({ comment }) => comment === '')).toEqual([])
  })

  it('has the whole text of the specification, also in place of an older text', async () => {
    await using opened = await aWarehouse()
    await loadRows(opened, events, [{ eventId: 1, totalChanges: 2 }])
    await publishedCatalogue(opened)
    await opened.warehouse.rows(`COMMENT ON COLUMN main.events.aggregate_record_modified IS 'an older text'`)
    await loadRows(opened, events, [{ eventId: 2 }])
    const catalogue = await publishedCatalogue(opened)
    const comment = (table: string, column: string) =>
      ['main', 'current'].map(
        (schema) =>
          columnsIn(catalogue, schema)
            .get(table)
            ?.find(({ name }) => name === column)?.comment,
      )
    expect(comment('events', 'aggregate_record_modified')).toEqual(
      twice(
        'Changes when the event or any child record is added, updated or soft-deleted. Child records: meeting rooms, accommodations, commissions, assignments, entity links, permissions, operations records, cancellation records, extended properties',
      ),
    )
    expect(comment('audit_entries', 'entity_type')).toEqual(
      twice(
        'Type of entity changed (present in the general audit report; the enquiry audit lists only timestamp, userId, action)',
      ),
    )
    expect(comment('enquiry_audit_entries', 'payload')).toEqual(
      twice('Raw payload; included when `expand.payload` is true'),
    )
    for (const table of ['enquiries', 'automated_bookings', 'office_reservations'])
      expect(comment(table, 'status')?.[0]).toContain('the specification names no meanings of the numbers')
    expect(comment('events', 'total_changes')?.[0]).toContain('in the window of the request that brought this version')
  })

  it('names the present type of a discovered column, and when and in which load it was first seen', {
    tags: 'long',
  }, async () => {
    await using opened = await aWarehouse()
    await loadRows(opened, enquiries, [{ enquiryId: 1, seats: 5 }])
    await publishedCatalogue(opened)
    const seats = async () =>
      columnsIn(await publishedCatalogue(opened), 'current')
        .get('enquiries')
        ?.find(({ name }) => name === 'seats')
    expect((await seats())?.comment).toMatch(
      /^Undocumented field seats: BIGINT, first seen \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC in load 1$/,
    )
    await loadRows(opened, enquiries, [{ enquiryId: 2, seats: 5.5 }])
    expect((await seats())?.comment).toMatch(/^Undocumented field seats: (?!BIGINT)\S+, first seen .* in load 1$/)
  })
})

/** The comment on the column in main and in current. */
const twice = (text: string) => [text, text]

const room = (id: number, more: object = {}) => ({ id, ...more })

describe('a view in current', () => {
  it('is there for every table of a report, with the same columns without the system ones', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    await tide.sync()
    const catalogue = await catalogueOf(tide.warehouse)
    const [tables, views] = [columnsIn(catalogue, 'main'), columnsIn(catalogue, 'current')]
    expect([...views.keys()]).toEqual([...tables.keys()])
    expect(tables.size).toBeGreaterThan(reportNames.length)
    for (const [name, columns] of tables) {
      const own = columns.filter((column) => !SYSTEM.includes(column.name))
      expect(
        views.get(name)?.map((column) => [column.name, column.type]),
        name,
      ).toEqual(own.map((column) => [column.name, column.type]))
      const [counts] = await tide.warehouse.rows<{ live: number; shown: number }>(
        `SELECT (SELECT count(*) FROM main."${name}" WHERE NOT is_deleted) AS live, (SELECT count(*) FROM current."${name}") AS shown`,
      )
      expect(counts?.shown, name).toBe(counts?.live)
    }
  })

  it('leaves out deleted rows and children, and shows new and widened columns at once', async () => {
    await using opened = await aWarehouse()
    const rooms = [room(1), room(2, { isDeleted: true })]
    await loadRows(opened, events, [
      { eventId: 1, isDeleted: false, meetingRooms: rooms },
      { eventId: 2, isDeleted: true, meetingRooms: [] },
    ])
    expect(await texts(opened, 'current.events', { columns: ['event_id'] })).toEqual([{ event_id: '1' }])
    const children = (...columns: string[]) => texts(opened, 'current.events__meeting_rooms', { columns })
    expect(await children('_child_key')).toEqual([{ _child_key: '1' }])
    await loadRows(
      opened,
      events,
      [{ eventId: 1, isDeleted: false, floors: 3, meetingRooms: [room(1, { seats: 7 })] }],
      {
        observedAt: '2026-03-01T13:00:00Z',
      },
    )
    expect(await texts(opened, 'current.events', { columns: ['event_id', 'floors'] })).toEqual([
      { event_id: '1', floors: '3' },
    ])
    expect(await children('_child_key', 'seats')).toEqual([{ _child_key: '1', seats: '7' }])
    await loadRows(opened, events, [{ eventId: 1, isDeleted: false, meetingRooms: [room(1, { seats: 7.5 })] }], {
      observedAt: '2026-03-01T14:00:00Z',
    })
    expect(await children('seats')).toEqual([{ seats: '7.500000000' }])
  })
})

describe('the tables as SQL', () => {
  it('make the same catalogue in an empty database, discovered columns and comments included', {
    tags: 'long',
  }, async () => {
    await using tide = await aTide({ sandbox: { rows: 12 } })
    await tide.sync()
    await tide.warehouse.publish(tide.config.published)
    await using copy = await Database.open(tide.config.published, { readOnly: true, memory: '256MB' })
    const catalogue = await catalogueOf(copy)
    await using empty = await Database.open(':memory:', { memory: '256MB' })
    await empty.run(definitionSql(catalogue))
    // A view's text lists what it leaves out in an order of its own.
    const plain = (held: typeof catalogue) => held.map(({ view, ...table }) => ({ ...table, isView: view !== null }))
    expect(plain(await catalogueOf(empty))).toEqual(plain(catalogue))
  })
})
