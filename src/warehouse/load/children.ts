/** Stores the items of collections in child tables. If a row lacks a collection, the stored items are kept. */
import { CHILD_COLUMNS, SYSTEM_COLUMNS } from '../../../schema/tables.ts'
import type { DiscoveredColumn } from '../../plan/columns.ts'
import { has, NESTED } from '../../plan/kinds.ts'
import { CHILD_ID_FIELD } from '../../plan/stagedNames.ts'
import { alwaysFits, castOf, misfits } from './casts.ts'
import { CHILD_DELETED_FIELD, itemIsNested, itemsSql, itemText, itemValue } from './items.ts'
import { type Sql, name, names, sameSql, text } from '../database/sql.ts'
import { childKey, recordReplaced } from '../tables/versions.ts'
import type { CarriedCollection, Merging } from './loading.ts'
import { misfitKey, misfitSql } from './misfits.ts'

interface ChildMerge extends Merging, CarriedCollection {
  readonly childColumns: readonly DiscoveredColumn[]
}

/** Writes child rows for the rows that the temporary table `win` lists. Returns how many child rows were written. */
export async function mergeChildren(sql: Sql, load: Merging, replaces: boolean): Promise<number> {
  let written = 0
  for (const collection of load.staged.collections) {
    const { child, items } = collection
    const parts = { ...load, ...collection, childColumns: load.discovered(child.name) }
    if (items !== undefined || replaces) written += await mergeCollection(sql, parts, replaces)
  }
  return written
}

async function mergeCollection(sql: Sql, parts: ChildMerge, replaces: boolean): Promise<number> {
  const keysAreSure = parts.items?.ids !== 'unsure'
  const misfit = misfitsSql(parts)
  if (!replaces && keysAreSure && misfit === undefined) return insertChildren(sql, parts, `(${childItemsSql(parts)})`)
  await sql.rowsInOrder(`CREATE OR REPLACE TEMP TABLE child_items AS ${childItemsSql(parts)}`)
  if (!keysAreSure) await correctKeys(sql)
  if (misfit !== undefined) await sql.run(misfit)
  return insertChildren(sql, parts, replaces ? await replaceStoredChildren(sql, parts) : 'child_items')
}

async function insertChildren(sql: Sql, parts: ChildMerge, items: string): Promise<number> {
  const target = `main.${name(parts.child.name)}`
  const columns = names([...parts.table.key, ...CHILD_COLUMNS, ...parts.childColumns, ...SYSTEM_COLUMNS])
  const [written] = await sql.rowsInOrder<{ Count: number }>(
    `INSERT INTO ${target} (${columns}) SELECT ${childValuesSql(parts)} FROM ${items} k`,
  )
  return written?.Count ?? 0
}

const fieldNamed = ({ field }: ChildMerge, wire: string) => field.elements?.field(wire)

/** Returns a query for the items of written rows. Run it with `rowsInOrder`, so that DuckDB streams the items. */
function childItemsSql(parts: ChildMerge): string {
  const [idField, flag] = [fieldNamed(parts, CHILD_ID_FIELD), fieldNamed(parts, CHILD_DELETED_FIELD)]
  const id = idField === undefined ? 'NULL::VARCHAR' : itemText(idField, 'i')
  const deleted =
    flag === undefined ? 'false' : `coalesce(${castOf(itemText(flag, 'i'), 'BOOLEAN', flag.kinds)}, false)`
  const items = itemsSql(parts.items, parts.field.elements?.fields)
  const key = names(parts.table.key)
  return `
    SELECT s.sid, ${names(parts.table.key, 's')}, s.observed_at, i.*, ${id} AS id_sent,
      coalesce(${id}, i.position::VARCHAR) AS child_key, hash(i.sent, i.position) AS row_hash,
      ${deleted} AS deleted, s.observed_at AS deleted_seen_at
    FROM ${items} i
    JOIN (
      SELECT rowid AS sid, ${key}, "~ordinal" AS ordinal, "~observed_at" AS observed_at
      FROM staged WHERE rowid IN (SELECT sid FROM win)) s ON s.ordinal = i.ordinal`
}

const HASHES = `length(id_sent) - length(ltrim(id_sent, '#'))`

/** Sets `child_key` of `child_items` to the id, or to the position if the id is missing or not unique. */
async function correctKeys(sql: Sql): Promise<void> {
  const [ids] = await sql.rows<{ items: number; withId: number; doubled: number }>(`
    SELECT count(*) AS items, count(id_sent) AS "withId",
      count(id_sent) - count(DISTINCT (sid, id_sent)) FILTER (id_sent IS NOT NULL) AS doubled
    FROM child_items`)
  if (ids === undefined || ids.withId === 0 || (ids.withId === ids.items && ids.doubled === 0)) return
  // A position gets one more # than any id, so no two keys are equal. With the ids a and #b, position 3 becomes ##3.
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE child_items AS
    SELECT * EXCLUDE (child_key, own),
      CASE WHEN own THEN id_sent ELSE repeat('#', coalesce(1 + max(${HASHES}) FILTER (own) OVER (PARTITION BY sid), 0)) || position END
        AS child_key
    FROM (
      SELECT *, coalesce(id_sent IS NOT NULL AND count(*) OVER (PARTITION BY sid, id_sent) = 1, false) AS own
      FROM child_items)`)
}

/** Deletes replaced children and marks missing children as deleted. Returns SQL that selects the children to write. */
async function replaceStoredChildren(sql: Sql, parts: ChildMerge): Promise<string> {
  const { table, child, history } = parts
  const target = `main.${name(child.name)}`
  const match = sameSql(table.key, 'c', 's')
  // If the field contains a single object, the new object replaces the stored one, even if their keys differ.
  const isSent = child.holds === 'many' ? 'k.sid IS NOT NULL' : 's.rowid IN (SELECT sid FROM child_items)'
  await sql.run(`
    CREATE OR REPLACE TEMP TABLE held AS
    SELECT c.rowid AS tid, s.rowid AS sid, c._child_key AS child_key, s."~observed_at" AS observed_at,
      c.is_deleted AS was_deleted, CASE WHEN c.is_deleted THEN c._deleted_seen_at END AS deleted_seen_at,
      ${isSent} AS is_sent, coalesce(k.row_hash = c._row_hash AND k.deleted = c.is_deleted, false) AS is_same
    FROM ${target} c JOIN staged s ON ${match} JOIN win w ON w.sid = s.rowid
    LEFT JOIN child_items k ON k.sid = s.rowid AND k.child_key = c._child_key
    WHERE w.replaced IS NOT NULL AND s.${name(parts.column)} IS NOT NULL`)
  const [counts] = await sql.rows<{ held: number; goes: number; left: number }>(`
    SELECT count(*) AS held, count(*) FILTER (${IS_REPLACED_OR_REMOVED}) AS goes, count(*) FILTER (${IS_REMOVED}) AS left FROM held h`)
  if (counts === undefined || counts.held === 0) return 'child_items'
  if (counts.goes > 0) {
    await recordReplaced(sql, history, {
      table: child.name,
      key: childKey(table),
      loadId: parts.loadId,
      rows: `SELECT h.tid, h.observed_at AS until FROM held h WHERE ${IS_REPLACED_OR_REMOVED}`,
    })
    if (counts.left > 0) await sql.run(insertRemovedSql(target, parts.loadId))
    await sql.run(`DELETE FROM ${target} WHERE rowid IN (SELECT h.tid FROM held h WHERE ${IS_REPLACED_OR_REMOVED})`)
  }
  // Older versions of Tidemark could store two children with one key. GROUP BY prevents writing a child twice.
  return `(
    SELECT k.* REPLACE (coalesce(h.deleted_seen_at, k.deleted_seen_at) AS deleted_seen_at)
    FROM child_items k LEFT JOIN (
      SELECT sid, child_key, max(deleted_seen_at) AS deleted_seen_at, bool_or(is_same) AS is_same
      FROM held GROUP BY sid, child_key) h ON h.sid = k.sid AND h.child_key = k.child_key
    WHERE h.is_same IS NOT true)`
}

const IS_REMOVED = 'NOT h.is_sent AND NOT h.was_deleted'
const IS_REPLACED_OR_REMOVED = 'NOT h.is_same AND (h.is_sent OR NOT h.was_deleted)'

const insertRemovedSql = (target: string, loadId: number): string => `
  INSERT INTO ${target} BY NAME
  SELECT c.* REPLACE (true AS is_deleted, 'absence' AS _delete_evidence, h.observed_at AS _deleted_seen_at,
    ${loadId}::BIGINT AS _load_id)
  FROM held h JOIN ${target} c ON c.rowid = h.tid
  WHERE ${IS_REMOVED}`

function misfitsSql(parts: ChildMerge): string | undefined {
  const flag: DiscoveredColumn = { name: 'is_deleted', field: CHILD_DELETED_FIELD, type: 'BOOLEAN' }
  const found = [...parts.childColumns, flag].flatMap(({ name: column, field: wire, type }) => {
    const field = fieldNamed(parts, wire)
    if (field === undefined || alwaysFits(type, field.kinds)) return []
    const isMisfit = `${itemIsNested(field, 'k')} OR coalesce(${misfits(itemText(field, 'k'), type, field.kinds)}, false)`
    return [misfitSql(isMisfit, { column, type, value: itemValue(field, 'k', parts.numberMark) })]
  })
  if (found.length === 0) return undefined
  const key = misfitKey(parts.table, 'k')
  return `
    INSERT INTO found_misfits
    SELECT ${text(parts.child.name)}, m.column, parent || ':' || child_key, m.value, m.reason, seen FROM (
      SELECT ${key} AS parent, k.child_key, k.observed_at AS seen,
        unnest(list_filter([${found.join(', ')}], lambda x: x IS NOT NULL)) AS m
      FROM child_items k)`
}

function childValuesSql(parts: ChildMerge): string {
  const values = parts.childColumns.map((column) => {
    const field = fieldNamed(parts, column.field)
    if (field === undefined) return 'NULL'
    if (column.type === 'JSON') return itemValue(field, 'k', parts.numberMark)
    const value = castOf(itemText(field, 'k'), column.type, field.kinds)
    return has(field.kinds, NESTED) ? `CASE WHEN NOT ${itemIsNested(field, 'k')} THEN ${value} END` : value
  })
  return [
    names(parts.table.key, 'k'),
    `k.child_key, k.position, ${parts.rules.excludePayload ? 'NULL' : 'k.sent'}`,
    ...values,
    `k.deleted, CASE WHEN k.deleted THEN 'flag' END, CASE WHEN k.deleted THEN k.deleted_seen_at END`,
    `k.observed_at, ${parts.loadId}::BIGINT, NULL, k.row_hash`,
  ].join(', ')
}
