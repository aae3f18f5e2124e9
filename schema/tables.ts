/** Derives a report's table and child tables from its declaration. */
import type { Collection, Declaration, FieldType } from './report.ts'

export type DuckType =
  | 'BIGINT'
  | 'DECIMAL(38,9)'
  | 'DOUBLE'
  | 'BOOLEAN'
  | 'TIMESTAMPTZ'
  | 'DATE'
  | 'VARCHAR'
  | 'JSON'
  | 'INTEGER'
  | 'UBIGINT'

export interface Column {
  readonly name: string
  readonly type: DuckType
  readonly comment: string
}

/** `sources` are all names of the field. Example: `['name', 'eventName']`. */
export interface FieldColumn extends Column {
  readonly sources: readonly string[]
}

export interface ChildTable extends Collection {
  readonly name: string
  readonly flag: string
  readonly comment: string
}

export interface ReportTable {
  readonly name: string
  readonly comment: string
  readonly asked: readonly Column[]
  readonly fields: readonly FieldColumn[]
  readonly key: readonly string[]
  readonly children: readonly ChildTable[]
}

export const TYPES: Record<FieldType, DuckType> = {
  integer: 'BIGINT',
  decimal: 'DECIMAL(38,9)',
  'date-time': 'TIMESTAMPTZ',
  string: 'VARCHAR',
  boolean: 'BOOLEAN',
  json: 'JSON',
}

const column = (name: string, type: DuckType, comment: string): Column => ({ name, type, comment })

/** Columns that Tidemark adds to every report and child table. */
export const SYSTEM_COLUMNS: readonly Column[] = [
  column('is_deleted', 'BOOLEAN', 'Whether the row is known to be deleted'),
  column('_delete_evidence', 'VARCHAR', 'How the deletion is known: flag, diff, absence; null: not deleted'),
  column('_deleted_seen_at', 'TIMESTAMPTZ', 'Service time at which the deletion was first seen'),
  column('_observed_at', 'TIMESTAMPTZ', 'Service time of the response that contained this version'),
  column('_load_id', 'BIGINT', 'Load that wrote this version (tidemark.loads)'),
  column('_extra', 'JSON', 'Undocumented values that have no column, as sent; null when none'),
  column('_row_hash', 'UBIGINT', 'Fingerprint of the row as sent. An equal row is not written again'),
]

export const VERSION_COLUMNS: readonly Column[] = [
  column('_valid_from', 'TIMESTAMPTZ', 'Service time at which this version was first seen'),
  column('_valid_to', 'TIMESTAMPTZ', 'Service time at which the next version was seen; null: the present version'),
]

export const CHILD_COLUMNS: readonly Column[] = [
  column('_child_key', 'VARCHAR', "The item's id if unique in its collection, else its position: 1, or #1 beside ids"),
  column('_position', 'INTEGER', 'Position in the collection, from 0'),
  column('_payload', 'JSON', 'The item as it was sent'),
]

/** Numbers the audit entries of a record, because entries have no identifier. */
export const ENTRY_NUMBER = column(
  'entry_number',
  'BIGINT',
  'Number of the entry within its record, from 1, in order of time; Tidemark assigns it',
)

/** Returns the name of a column. Example: `recordModified` becomes `record_modified`. */
export function snakeCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9_]+/g, '_')
    .toLowerCase()
}

export function tableOf(report: Declaration): ReportTable {
  return {
    name: report.name,
    comment: report.meaning,
    asked: report.asked.map(({ column, type, meaning }) => ({ name: column, type: TYPES[type], comment: meaning })),
    fields: [...fieldColumns(report), ...(report.perRecord === undefined ? [] : [{ ...ENTRY_NUMBER, sources: [] }])],
    key: report.key,
    children: Object.entries(report.expand).flatMap(([flag, added]) =>
      added === 'fields' ? [] : [childTable(report, flag, added)],
    ),
  }
}

export function wireKey(report: Declaration): readonly string[] {
  const byColumn = new Map(Object.keys(report.fields).map((field) => [snakeCase(field), field]))
  return report.key.flatMap((column) => byColumn.get(column) ?? [])
}

export function documentedFields(report: Declaration): ReadonlySet<string> {
  return new Set(Object.entries(report.fields).flatMap(([name, field]) => [name, ...(field.also ?? [])]))
}

export function collectionFields(report: Declaration): readonly string[] {
  return Object.values(report.expand).flatMap((added) => (added === 'fields' ? [] : [added.field]))
}

/** The deletion flag has no column of its own, because it fills `is_deleted`. */
function fieldColumns(report: Declaration): FieldColumn[] {
  return Object.entries(report.fields)
    .filter(([name]) => name !== report.deletedFlag)
    .map(([name, field]) => ({
      name: snakeCase(name),
      type: TYPES[field.type],
      comment: field.meaning,
      sources: [name, ...(field.also ?? [])],
    }))
}

function childTable(report: Declaration, flag: string, collection: Collection): ChildTable {
  return {
    ...collection,
    name: `${report.name}__${snakeCase(collection.field)}`,
    flag,
    comment: `${collection.field} of ${report.name} (expand.${flag})`,
  }
}
