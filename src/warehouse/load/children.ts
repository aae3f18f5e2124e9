/** Stores the items of collections in child tables. A row without the collection keeps its stored items. */
import { CHILD_COLUMNS, SYSTEM_COLUMNS } from '../../../schema/tables.ts'
import type { DiscoveredColumn } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import { CHILD_ID_FIELD } from '../../plan/stagedNames.ts'
import type { CatalogField } from '../../staging/catalog.ts'
import { alwaysFits, castOf, misfits } from './casts.ts'
import { CHILD_DELETED_FIELD, itemIsNested, itemsSql, itemText, itemValue } from './items.ts'
import { type Sql, name, names, sameSql, text } from '../database/sql.ts'
import { childKey, closeVersions, insertReplacedSql, rowKeySql } from '../tables/versions.ts'
import type { CarriedCollection, RowMerge } from './loadSteps.ts'
import { misfitKey, misfitSql } from './misfits.ts'

/** The items of one collection of a load, and the table to which they are written. */
interface ChildMerge extends RowMerge, CarriedCollection {
  readonly childColumns: readonly DiscoveredColumn[]
}

/** Up to this size, the collections of a load share statements. Above it, each has its own, which saves memory. */
const SHARED_BYTES_MAX = 8 * 2 ** 20

/** Writes the child rows of the rows in the table `written_rows`, and returns their number. */
export async function mergeChildren(sql: Sql, load: RowMerge, replaces: boolean): Promise<number> {
  const all = load.staged.collections
    .map((each) => ({ ...load, ...each, childColumns: load.discovered(each.child.name) }))
    .filter(({ items }) => items !== undefined || replaces)
  const needsCheck = (merge: ChildMerge) =>
    replaces || merge.items?.ids === 'unsure' || misfitsSql(merge, 0) !== undefined
  let written = 0
  for (const merge of all.filter((each) => !needsCheck(each))) {
    const [inserted] = await sql.rowsInOrder<{ Count: number }>(insertSql(merge, `(${childItemsSql([merge])})`))
    written += inserted?.Count ?? 0
  }
  const checked = all.filter(needsCheck)
  const isSmall = all.reduce((sum, { items }) => sum + (items?.bytes ?? 0), 0) <= SHARED_BYTES_MAX
  for (const [first, ...others] of isSmall ? [checked] : checked.map((each) => [each]))
    if (first !== undefined) written += await mergeCollections(sql, [first, ...others], replaces)
  return written
}

/** All collections of a group belong to one load, so all merges have the same table. */
type Group = readonly [ChildMerge, ...ChildMerge[]]

/** In temporary tables, `n` is the index of a collection in `group`. */
async function mergeCollections(sql: Sql, group: Group, replaces: boolean): Promise<number> {
  await sql.rowsInOrder(`CREATE OR REPLACE TEMP TABLE child_items AS ${childItemsSql(group)}`)
  if (group.some(({ items }) => items?.ids === 'unsure')) await correctKeys(sql)
  const checks = group.flatMap((merge, n) => misfitsSql(merge, n) ?? [])
  if (checks.length > 0) await sql.run(checks.join('; '))
  if (replaces) await replaceStoredChildren(sql, group)
  const counts = await sql.rows<{ n: number; items: number }>('SELECT n, count(*) AS items FROM child_items GROUP BY n')
  const inserts = counts.map(({ n }) => insertSql(group[n] as ChildMerge, `(FROM child_items WHERE n = ${n})`))
  if (inserts.length > 0) await sql.run(inserts.join('; '))
  return counts.reduce((sum, { items }) => sum + items, 0)
}

function insertSql(merge: ChildMerge, items: string): string {
  const columns = names([...merge.table.key, ...CHILD_COLUMNS, ...merge.childColumns, ...SYSTEM_COLUMNS])
  return `INSERT INTO main.${name(merge.child.name)} (${columns}) SELECT ${childValuesSql(merge)} FROM ${items} k`
}

const fieldNamed = ({ field }: ChildMerge, wire: string) => field.elements?.field(wire)

/** Returns a query for the items in collections of written rows. Run it with `rowsInOrder`. */
function childItemsSql(group: Group): string {
  const [{ table }] = group
  const ofCollection = (wire: string, valueOf: (field: CatalogField | undefined) => string) =>
    `CASE i.n ${group.map((merge, n) => `WHEN ${n} THEN ${valueOf(fieldNamed(merge, wire))}`).join(' ')} END`
  const id = ofCollection(CHILD_ID_FIELD, (field) => (field ? itemText(field, 'i') : 'NULL::VARCHAR'))
  const deleted = ofCollection(CHILD_DELETED_FIELD, (flag) =>
    flag === undefined ? 'false' : `coalesce(${castOf(itemText(flag, 'i'), 'BOOLEAN', flag.kinds)}, false)`,
  )
  const fields = group.map((merge) => merge.field.elements?.fields ?? [])
  const [longest] = fields.toSorted((one, other) => other.length - one.length)
  const sent = group.flatMap(({ items }) => items ?? [])
  const places = group.flatMap(({ items }, n) => (items === undefined ? [] : [n]))
  return `
    SELECT s.sid, ${names(table.key, 's')}, s.observed_at, i.*, ${id} AS id_sent,
      coalesce(id_sent, i.position::VARCHAR) AS child_key, hash(i.sent, i.position) AS row_hash,
      ${deleted} AS deleted, s.observed_at AS deleted_seen_at
    FROM (SELECT *, ([${places.join(', ')}]::INTEGER[])[file_index::BIGINT + 1] AS n FROM ${itemsSql(sent, longest)}) i
    JOIN (
      SELECT rowid AS sid, ${names(table.key)}, "~ordinal" AS ordinal, "~observed_at" AS observed_at
      FROM staged WHERE rowid IN (SELECT sid FROM written_rows)) s ON s.ordinal = i.ordinal`
}

const HASHES = `length(id_sent) - length(ltrim(id_sent, '#'))`

/** Uses the position as the key if an item's id is missing or not unique. */
async function correctKeys(sql: Sql): Promise<void> {
  const [ids] = await sql.rows<{ items: number; withId: number; doubled: number }>(`
    SELECT count(*) AS items, count(id_sent) AS "withId",
      count(id_sent) - count(DISTINCT (n, sid, id_sent)) FILTER (id_sent IS NOT NULL) AS doubled
    FROM child_items`)
  if (ids === undefined || ids.withId === 0 || (ids.withId === ids.items && ids.doubled === 0)) return
  // The key of an item without an id is its position. It begins with more # than any id, so that it equals none.
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE child_items AS
    SELECT * EXCLUDE (child_key, own),
      CASE WHEN own THEN id_sent ELSE repeat('#', coalesce(1 + max(${HASHES}) FILTER (own) OVER (PARTITION BY n, sid), 0)) || position END
        AS child_key
    FROM (
      SELECT *, coalesce(id_sent IS NOT NULL AND count(*) OVER (PARTITION BY n, sid, id_sent) = 1, false) AS own
      FROM child_items)`)
}

/** Deletes child rows that new items replace, and marks child rows as deleted that have no item any longer. */
async function replaceStoredChildren(sql: Sql, group: Group): Promise<void> {
  const [{ table, history, loadId }] = group
  await sql.run(createStoredChildrenSql(group))
  const counts = await sql.rows<{ n: number; goes: number; left: number; reset: number }>(`
    DELETE FROM child_items WHERE rowid IN (SELECT kid FROM stored_children WHERE is_same);
    SELECT n, count(*) FILTER (${IS_REPLACED_OR_REMOVED}) AS goes, count(*) FILTER (${IS_REMOVED}) AS left,
      count(deleted_seen_at) AS reset FROM stored_children h GROUP BY n HAVING goes + reset > 0`)
  if (counts.length === 0) return
  const children = group.map(({ child }) => text(child.name)).join(', ')
  const replaced = `SELECT [${children}][h.n + 1], h.row_key, h.load_id, h.was_deleted FROM stored_children h WHERE ${IS_REPLACED_OR_REMOVED}`
  const statements = [insertReplacedSql(replaced, loadId)]
  if (counts.some(({ reset }) => reset > 0)) statements.push(KEEP_DELETED_SEEN_AT)
  for (const { n, goes, left } of counts) {
    const { child } = group[n] as ChildMerge
    const rows = `stored_children h WHERE h.n = ${n} AND ${IS_REPLACED_OR_REMOVED}`
    const closing = `SELECT h.tid, h.observed_at AS until FROM ${rows}`
    await closeVersions(sql, history, { table: child.name, key: childKey(table), rows: closing })
    if (left > 0) statements.push(insertRemovedSql(`main.${name(child.name)}`, n, loadId))
    if (goes > 0) statements.push(`DELETE FROM main.${name(child.name)} WHERE rowid IN (SELECT h.tid FROM ${rows})`)
  }
  await sql.run(statements.join('; '))
}

const KEEP_DELETED_SEEN_AT = `
  UPDATE child_items k SET deleted_seen_at = h.deleted_seen_at
  FROM (SELECT kid, max(deleted_seen_at) AS deleted_seen_at FROM stored_children GROUP BY kid) h
  WHERE h.kid = k.rowid AND h.deleted_seen_at IS NOT NULL`

function createStoredChildrenSql(group: Group): string {
  const [{ table }] = group
  const key = childKey(table)
  const stored = group.map(
    ({ child }, n) =>
      `SELECT ${n} AS n, rowid AS tid, ${names(key)}, is_deleted, _deleted_seen_at, _load_id, _row_hash FROM main.${name(child.name)}`,
  )
  const carried = group.map((merge, n) => `WHEN ${n} THEN s.${name(merge.column)} IS NOT NULL`)
  // A single object replaces the stored one, even if their keys differ.
  const single = group.flatMap(({ child }, n) => (child.holds === 'many' ? [] : [n]))
  const isAnySent = '(c.n, s.rowid) IN (SELECT (n, sid) FROM child_items)'
  const orSingle = single.length === 0 ? '' : `OR c.n IN (${single.join(', ')}) AND ${isAnySent}`
  return `
    CREATE OR REPLACE TEMP TABLE stored_children AS
    SELECT c.n, c.tid, ${rowKeySql(key, 'c')} AS row_key, c._load_id AS load_id, k.rowid AS kid, s."~observed_at" AS observed_at,
      c.is_deleted AS was_deleted, CASE WHEN c.is_deleted THEN c._deleted_seen_at END AS deleted_seen_at,
      (k.sid IS NOT NULL ${orSingle}) AS is_sent,
      coalesce(k.row_hash = c._row_hash AND k.deleted = c.is_deleted, false) AS is_same
    FROM (${stored.join(' UNION ALL ')}) c JOIN staged s ON ${sameSql(table.key, 'c', 's')} JOIN written_rows w ON w.sid = s.rowid
    LEFT JOIN child_items k ON k.n = c.n AND k.sid = s.rowid AND k.child_key = c._child_key
    WHERE w.replaced IS NOT NULL AND CASE c.n ${carried.join(' ')} END`
}

const IS_REMOVED = 'NOT h.is_sent AND NOT h.was_deleted'
const IS_REPLACED_OR_REMOVED = 'NOT h.is_same AND (h.is_sent OR NOT h.was_deleted)'

const insertRemovedSql = (target: string, n: number, loadId: number): string => `
  INSERT INTO ${target} BY NAME
  SELECT c.* REPLACE (true AS is_deleted, 'absence' AS _delete_evidence, h.observed_at AS _deleted_seen_at,
    ${loadId}::BIGINT AS _load_id)
  FROM stored_children h JOIN ${target} c ON c.rowid = h.tid
  WHERE h.n = ${n} AND ${IS_REMOVED}`

function misfitsSql(merge: ChildMerge, n: number): string | undefined {
  const flag: DiscoveredColumn = { name: 'is_deleted', field: CHILD_DELETED_FIELD, type: 'BOOLEAN' }
  const found = [...merge.childColumns, flag].flatMap(({ name: column, field: wire, type }) => {
    const field = fieldNamed(merge, wire)
    if (field === undefined || alwaysFits(type, field.kinds)) return []
    const isMisfit = `${itemIsNested(field, 'k')} OR coalesce(${misfits(itemText(field, 'k'), type, field.kinds)}, false)`
    return [misfitSql(isMisfit, { column, type, value: itemValue(field, 'k', merge.numberPrefix) })]
  })
  if (found.length === 0) return undefined
  const key = misfitKey(merge.table, 'k')
  return `
    INSERT INTO found_misfits
    SELECT ${text(merge.child.name)}, m.column, parent || ':' || child_key, m.value, m.reason, seen FROM (
      SELECT ${key} AS parent, k.child_key, k.observed_at AS seen,
        unnest(list_filter([${found.join(', ')}], lambda x: x IS NOT NULL)) AS m
      FROM child_items k WHERE k.n = ${n})`
}

function childValuesSql(merge: ChildMerge): string {
  const values = merge.childColumns.map((column) => {
    const field = fieldNamed(merge, column.field)
    if (field === undefined) return 'NULL'
    if (column.type === 'JSON') return itemValue(field, 'k', merge.numberPrefix)
    const value = castOf(itemText(field, 'k'), column.type, field.kinds)
    return has(field.kinds, NESTED) ? `CASE WHEN NOT ${itemIsNested(field, 'k')} THEN ${value} END` : value
  })
  return [
    names(merge.table.key, 'k'),
    `k.child_key, k.position, ${merge.rules.excludePayload ? 'NULL' : 'k.sent'}`,
    ...values,
    `k.deleted, CASE WHEN k.deleted THEN 'flag' END, CASE WHEN k.deleted THEN k.deleted_seen_at END`,
    `k.observed_at, ${merge.loadId}::BIGINT, NULL, k.row_hash`,
  ].join(', ')
}
