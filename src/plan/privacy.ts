/** Decides which fields to hash or drop. A rule names a field by its column. */
import type { Declaration } from '../../schema/report.ts'
import { documentedFields, type ReportTable, tableOf } from '../../schema/tables.ts'
import { columnName } from './columns.ts'

export type ColumnRule = 'hash' | 'drop' | 'keep'

/** Example of `columns`: `{ booker_company: 'drop', 'attendees.email': 'hash' }`. */
export interface PrivacyRules {
  readonly columns: Readonly<Record<string, ColumnRule>>
  readonly excludePayload: boolean
}

export type ActiveRule = Exclude<ColumnRule, 'keep'>

/** The beginning of the text that replaces a rejected row with private content. Such a row can't be loaded again. */
export const WITHHELD = 'withheld by '

export type ObjectRules = ReadonlyMap<string, ActiveRule>

export type RowRules = NonNullable<ReturnType<typeof rowRules>>

export const NO_RULES: PrivacyRules = { columns: {}, excludePayload: false }

const activeRules = ({ columns }: PrivacyRules): (readonly [string, ActiveRule])[] =>
  Object.entries(columns).flatMap(([name, rule]) => (rule === 'keep' ? [] : [[name, rule] as const]))

export function rowRules(report: Declaration, rules: PrivacyRules) {
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
    /** The only fields whose arrays and objects are stored. If undefined, all are stored. */
    nested: rules.excludePayload
      ? new Set([...documentedFields(report), ...table.children.map(({ field }) => field)])
      : undefined,
  }
}

/** Returns the other fields (snake_case) that can fill this column (spec §2). Example: `event_name` for `name`. */
export const otherNames = (table: ReportTable, column: string): string[] =>
  (table.fields.find(({ name }) => name === column)?.sources ?? []).map(columnName).filter((name) => name !== column)

/** Returns a child table's name without the report's. Example: `taxes` for the table `budgets__taxes`. */
export const childName = (report: string, table: string): string => table.slice(report.length + 2)

export const ruleOf = (rules: ObjectRules, field: string): ActiveRule | undefined => rules.get(columnName(field))

export const itemRulesOf = ({ collections }: RowRules, field: string): ObjectRules | undefined =>
  collections.size === 0 ? undefined : collections.get(columnName(field))

/** Returns the rules as text, to detect changes. `keyPrint`: fingerprint of the secret key that hashes columns. */
export function privacyText(rules: PrivacyRules, keyPrint: string | undefined): string | undefined {
  const active = activeRules(rules).toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (active.length === 0 && !rules.excludePayload) return undefined
  const hashes = active.some(([, rule]) => rule === 'hash')
  return JSON.stringify([active, rules.excludePayload, hashes ? (keyPrint ?? '') : ''])
}

export type NewlyPrivate = ReturnType<typeof newlyPrivate>

/** Returns the columns that have a new or changed rule or hash key. Their stored values must be deleted. */
export function newlyPrivate(before: string | undefined, after: string | undefined) {
  const [old, oldPayload, oldKey] = parsed(before)
  const [active, payload, key] = parsed(after)
  const oldRules = new Map(old)
  const isOther = ([name, rule]: readonly [string, ActiveRule]): boolean =>
    oldRules.get(name) !== rule || (rule === 'hash' && key !== oldKey)
  const changed = active.filter(isOther)
  const hashed = changed.filter(([, rule]) => rule === 'hash').map(([name]) => name)
  return { columns: changed.map(([name]) => name), hashed, payload: payload && !oldPayload }
}

type ParsedRules = readonly [(readonly [string, ActiveRule])[], boolean, string]

const parsed = (text: string | undefined): ParsedRules =>
  text === undefined ? [[], false, ''] : (JSON.parse(text) as ParsedRules)
