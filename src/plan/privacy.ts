/**
 * What of a report's rows may not be kept in clear: which fields are hashed or dropped, in rows and in the items of
 * collections. Fields are known by the name of their column, so every spelling of a field that would fill it is meant.
 */
import type { Declaration } from '../../schema/report.ts'
import { documentedFields, type ReportTable, tableOf } from '../../schema/tables.ts'
import { columnName } from './columns.ts'

export { columnName } from './columns.ts'

export type ColumnRule = 'hash' | 'drop' | 'keep'

/** As configured: `column` or `collection.column` → what becomes of it. */
export interface PrivacyRules {
  readonly columns: Readonly<Record<string, ColumnRule>>
  /** Only columns are kept: nothing stays as it was sent. */
  readonly excludePayload: boolean
}

export type ActiveRule = Exclude<ColumnRule, 'keep'>

/** What stands in place of a refused row that may not be kept; JSON text that begins so is never loaded again. */
export const WITHHELD = 'withheld by '

/** The rules of one kind of object, by column. */
export type ObjectRules = ReadonlyMap<string, ActiveRule>

export interface RowRules {
  readonly row: ObjectRules
  /** By the name of the collection. */
  readonly collections: ReadonlyMap<string, ObjectRules>
  /** Wire fields of which an array or object is kept; undefined: all are. */
  readonly nested: ReadonlySet<string> | undefined
}

export const NO_RULES: PrivacyRules = { columns: {}, excludePayload: false }

const activeRules = ({ columns }: PrivacyRules): (readonly [string, ActiveRule])[] =>
  Object.entries(columns).flatMap(([name, rule]) => (rule === 'keep' ? [] : [[name, rule] as const]))

/** The rules for a report's rows; undefined: everything is kept as it comes. */
export function rowRules(report: Declaration, rules: PrivacyRules): RowRules | undefined {
  const active = activeRules(rules)
  if (active.length === 0 && !rules.excludePayload) return undefined
  const table = tableOf(report)
  const ofChild = (child: string): ObjectRules =>
    new Map(
      active.flatMap(([name, rule]) => (name.startsWith(`${child}.`) ? [[name.slice(child.length + 1), rule]] : [])),
    )
  const collections = table.children.map((child) => childName(report.name, child.name))
  const own = active.filter(([name]) => !name.includes('.'))
  const otherwise = own.flatMap(([name, rule]) => otherNames(table, name).map((other) => [other, rule] as const))
  return {
    row: new Map([...own, ...otherwise]),
    collections: new Map(collections.map((name) => [name, ofChild(name)] as const).filter(([, { size }]) => size > 0)),
    nested: rules.excludePayload
      ? new Set([...documentedFields(report), ...table.children.map(({ field }) => field)])
      : undefined,
  }
}

/** Names of the fields that fill the column from rows of another shape (spec §2, event row): as private as its own. */
export const otherNames = (table: ReportTable, column: string): string[] =>
  (table.fields.find(({ name }) => name === column)?.sources ?? []).map(columnName).filter((name) => name !== column)

/** A child table's name as the configuration has it: without its parent's. */
export const childName = (report: string, table: string): string => table.slice(report.length + 2)

/** What becomes of a field, by its name on the wire. */
export const ruleOf = (rules: ObjectRules, field: string): ActiveRule | undefined => rules.get(columnName(field))

/** What becomes of the items in a field, by its name on the wire. */
export const itemRulesOf = ({ collections }: RowRules, field: string): ObjectRules | undefined =>
  collections.size === 0 ? undefined : collections.get(columnName(field))

/** Rules as text, equal for equal rules; undefined where there is none. `keyPrint` tells hash keys apart. */
export function privacyText(rules: PrivacyRules, keyPrint: string | undefined): string | undefined {
  const active = activeRules(rules).toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (active.length === 0 && !rules.excludePayload) return undefined
  const hashes = active.some(([, rule]) => rule === 'hash')
  return JSON.stringify([active, rules.excludePayload, hashes ? (keyPrint ?? '') : ''])
}

export interface NowPrivate {
  /** `column` or `collection.column`. */
  readonly columns: readonly string[]
  readonly payload: boolean
}

/** What is held in another form than it may be kept in by now. */
export function nowPrivate(before: string | undefined, after: string | undefined): NowPrivate {
  const [old, oldPayload, oldKey] = parsed(before)
  const [active, payload, key] = parsed(after)
  const held = new Map(old)
  const isOther = ([name, rule]: readonly [string, ActiveRule]): boolean =>
    held.get(name) !== rule || (rule === 'hash' && key !== oldKey)
  return { columns: active.filter(isOther).map(([name]) => name), payload: payload && !oldPayload }
}

type Told = readonly [(readonly [string, ActiveRule])[], boolean, string]

const parsed = (text: string | undefined): Told => (text === undefined ? [[], false, ''] : (JSON.parse(text) as Told))
