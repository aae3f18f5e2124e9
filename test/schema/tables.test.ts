/**
 * The tables that follow from the declarations: names, columns, types and keys that people build on (product contract
 * §3, §4).
 */
import { describe, expect, it } from 'vitest'
import { reportNames, reportOf, reports } from '../../schema/index.ts'
import { DEFINITIONS } from '../../src/sandbox/reports/index.ts'
import { collectionFields, documentedFields, snakeCase, SYSTEM_COLUMNS, tableOf, wireKey } from '../../schema/tables.ts'

const table = (name: (typeof reportNames)[number]) => tableOf(reportOf(name))
const typesOf = (name: (typeof reportNames)[number]) =>
  Object.fromEntries([...table(name).asked, ...table(name).fields].map((column) => [column.name, column.type]))

const BOOKING = { booker_email: 'VARCHAR', booker_company: 'VARCHAR', status: 'BIGINT' }

describe('the tables', () => {
  it('are those of the contract: name, key and collections', () => {
    expect(
      Object.fromEntries(
        reportNames.map((name) => [
          name,
          [table(name).key, table(name).children.map((child) => child.name.replace(`${name}__`, ''))],
        ]),
      ),
    ).toMatchObject({
      events: [
        ['event_id'],
        [
          'meeting_rooms',
          'accommodations',
          'commission',
          'entity_links',
          'permissions',
          'operations_record',
          'assignments',
          'cancellation_record',
          'extended_properties',
        ],
      ],
      budgets: [
        ['budget_id', 'target_currency'],
        ['cost_items', 'taxes', 'currencies'],
      ],
      enquiries: [
        ['enquiry_id'],
        [
          'enquiry_venues',
          'enquiry_day',
          'bedrooms',
          'custom_questions',
          'custom_fields',
          'approver',
          'address_extra',
          'taxes',
        ],
      ],
      automated_bookings: [
        ['reservation_id', 'target_currency'],
        [
          'reservation_days',
          'reservation_day_food_drinks',
          'reservation_day_equipments',
          'vatrates',
          'cost_centers',
          'currencies',
          'approver',
          'transactions',
        ],
      ],
      office_reservations: [
        ['office_reservation_id'],
        ['reservation_days', 'user_details', 'custom_data', 'attendees', 'benchmark_data', 'extra_items'],
      ],
      merf_submissions: [['submission_id'], ['person', 'field_responses', 'attachments']],
      audit_entries: [['entity_id', 'entity_record_id', 'entry_number'], []],
      enquiry_audit_entries: [['enquiry_id', 'entry_number'], []],
    })
  })

  it('have the documented fields as typed columns', () => {
    expect(typesOf('events')).toEqual({
      event_id: 'BIGINT',
      name: 'VARCHAR',
      start_date: 'TIMESTAMPTZ',
      end_date: 'TIMESTAMPTZ',
      status: 'VARCHAR',
      form_type: 'VARCHAR',
      location: 'VARCHAR',
      attendees: 'BIGINT',
      in_person_attendees: 'BIGINT',
      external_id: 'VARCHAR',
      town: 'VARCHAR',
      payment_method: 'VARCHAR',
      company_id: 'BIGINT',
      affiliate_id: 'BIGINT',
      external_url: 'VARCHAR',
      record_created: 'TIMESTAMPTZ',
      record_modified: 'TIMESTAMPTZ',
      aggregate_record_modified: 'TIMESTAMPTZ',
      total_changes: 'BIGINT',
    })
    expect(typesOf('budgets')).toEqual({
      target_currency: 'VARCHAR',
      budget_id: 'BIGINT',
      budget_name: 'VARCHAR',
      modified_at: 'TIMESTAMPTZ',
      total_amount: 'DECIMAL(38,9)',
      currency_code: 'VARCHAR',
    })
    expect(typesOf('enquiries')).toEqual({ enquiry_id: 'BIGINT', ...BOOKING })
    expect(typesOf('automated_bookings')).toEqual({ target_currency: 'VARCHAR', reservation_id: 'BIGINT', ...BOOKING })
    expect(typesOf('office_reservations')).toEqual({ office_reservation_id: 'BIGINT', ...BOOKING })
    expect(typesOf('merf_submissions')).toEqual({
      submission_id: 'BIGINT',
      form_id: 'BIGINT',
      event_id: 'BIGINT',
      submitted_at: 'TIMESTAMPTZ',
    })
    const entry = {
      entry_number: 'BIGINT',
      timestamp: 'TIMESTAMPTZ',
      user_id: 'BIGINT',
      action: 'VARCHAR',
      payload: 'JSON',
    }
    expect(typesOf('audit_entries')).toEqual({
      entity_id: 'BIGINT',
      entity_record_id: 'BIGINT',
      entity_type: 'VARCHAR',
      ...entry,
    })
    expect(typesOf('enquiry_audit_entries')).toEqual({ enquiry_id: 'BIGINT', ...entry })
  })

  it('have the system columns of the contract', () => {
    expect(SYSTEM_COLUMNS.map(({ name, type }) => `${name} ${type}`)).toEqual(
      expect.arrayContaining([
        'is_deleted BOOLEAN',
        '_delete_evidence VARCHAR',
        '_deleted_seen_at TIMESTAMPTZ',
        '_observed_at TIMESTAMPTZ',
        '_load_id BIGINT',
        '_extra JSON',
      ]),
    )
  })

  it('give both row shapes of an event the same columns', () => {
    const sources = Object.fromEntries(table('events').fields.map((column) => [column.name, column.sources]))
    expect(sources).toMatchObject({
      name: ['name', 'eventName'],
      record_modified: ['recordModified', 'modifiedAt'],
      aggregate_record_modified: ['aggregateRecordModified', 'modifiedAt'],
      total_changes: ['totalChanges'],
    })
    expect(documentedFields(reportOf('events'))).toEqual(
      new Set([...Object.keys(reportOf('events').fields), 'eventName', 'modifiedAt']),
    )
  })

  it.each(reports.map((report) => report.name))(
    'of %s have a comment on each column, names that differ, and keys that exist',
    (name) => {
      const { asked, fields, key, children, comment } = table(name)
      const columns = [...asked, ...fields, ...SYSTEM_COLUMNS]
      expect([
        comment,
        ...columns.map((column) => column.comment),
        ...children.map((child) => child.comment),
      ]).not.toContain('')
      expect(new Set(columns.map((column) => column.name)).size).toBe(columns.length)
      for (const column of key) expect(columns.map((each) => each.name)).toContain(column)
      expect(new Set(collectionFields(reportOf(name))).size).toBe(children.length)
    },
  )
})

describe('the key of a row', () => {
  it('is what the row carries itself; the question gives the rest', () => {
    // The sandbox's registry was written from the specification a second time, so it is compared with the declarations.
    const served = Object.entries(DEFINITIONS).map(([report, { key }]) => [report, [key]])
    const trails = reports.filter(({ perRecord }) => perRecord !== undefined).map(({ name }) => [name, []])
    expect(Object.fromEntries(reports.map((report) => [report.name, wireKey(report)]))).toEqual(
      Object.fromEntries([...served, ...trails]),
    )
  })
})

describe('a name', () => {
  it.each([
    ['aggregateRecordModified', 'aggregate_record_modified'],
    ['isDeleted', 'is_deleted'],
    ['externalURL', 'external_url'],
    ['URLOfEvent', 'url_of_event'],
    ['vatRate2Value', 'vat_rate2_value'],
    ['Already_Snake', 'already_snake'],
    ['with blank-and.dot', 'with_blank_and_dot'],
    ['ID', 'id'],
  ])('%s becomes %s', (wire, column) => {
    expect(snakeCase(wire)).toBe(column)
  })
})
