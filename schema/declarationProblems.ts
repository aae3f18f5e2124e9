/** Finds mistakes in the declaration of an operator's own report (`reports_from`). */
import type { Declaration } from './report.ts'
import { CHILD_COLUMNS, snakeCase, SYSTEM_COLUMNS, tableOf } from './tables.ts'

export interface DeclarationProblem {
  /** Where the problem is in the declaration. Example: `['fields', 'orderId', 'type']`. */
  readonly path: readonly string[]
  readonly problem: string
}

const RESERVED = new Set(['_change', ...[...SYSTEM_COLUMNS, ...CHILD_COLUMNS].map(({ name }) => name)])

/** The temporary tables of loads. DuckDB looks for temporary tables first, also for `main.staged`. */
const TEMPORARY_TABLE =
  /^(absent|asked_windows|child_items|closing|earlier_\d+|found_misfits|gone_(keys|rows)|joined_windows|new_start|newest|noted|old_(loads|misfits|windows)|read_keys|rejections|reread_\d+|staged(_pages|_rejected)?|stored_(children|entries)|unchanged_entries|written_rows)$/

/** Returns contradictions between properties, such as a key without a field. */
export function contradictionsIn(report: Declaration): DeclarationProblem[] {
  const { fields, deletes, deletedFlag, includeDeleted, currency, perRecord } = report
  const { asked, children } = tableOf(report)
  const ofFields = Object.entries(fields).map(([field, { type }]) => ({ field, type, column: snakeCase(field) }))
  const columns = [...ofFields.map(({ column }) => column), ...asked.map(({ name }) => name)]
  const known = `known columns are ${columns.join(', ')}`
  const isKnown = (column: string) => columns.includes(column) || (perRecord !== undefined && column === 'entry_number')
  const isTime = (column: string) => ofFields.some((each) => each.column === column && each.type === 'date-time')
  const isFlag = deletedFlag !== undefined && fields[deletedFlag]?.type === 'boolean'
  const names = [...columns, ...children.map(({ name }) => name)]
  const fieldsOfKey = report.key.filter((column) => !asked.some(({ name }) => name === column))
  const isCompared = /absence|diff/.test(deletes) || (report.answer === 'envelope' && report.created !== undefined)
  const checks: readonly (readonly [boolean, readonly string[], string])[] = [
    [report.name.includes('__'), ['name'], 'must not contain __, which separates a report from its collections'],
    [TEMPORARY_TABLE.test(report.name), ['name'], 'is used by Tidemark itself; choose a different one'],
    ...report.key.map((column) => [!isKnown(column), ['key'], `has no column ${column}; ${known}`] as const),
    ...report.newerBy.map((column) => [!isTime(column), ['newerBy'], `${column} is no date-time field`] as const),
    ...ofFields.map(
      ({ field, column }) =>
        [
          RESERVED.has(column) && field !== deletedFlag,
          ['fields', field],
          `becomes the column ${column}, which Tidemark uses itself; leave the field out, and _extra keeps its value`,
        ] as const,
    ),
    ...names.map((name, index) => [names.indexOf(name) < index, ['fields'], `${name} is there twice`] as const),
    [deletes === 'flag' && !isFlag, ['deletedFlag'], "must name a boolean field, because deletes is 'flag'"],
    [deletes === 'diff' && !includeDeleted, ['includeDeleted'], "must name a parameter, because deletes is 'diff'"],
    [isCompared && fieldsOfKey.length > 1, ['key'], 'must be one field: rows are found by it (deletes, created)'],
    [
      currency !== undefined && !(report.key.includes('target_currency') && isKnown('target_currency')),
      ['currency'],
      'needs target_currency in key and in asked, because the report is read once for each currency',
    ],
    [perRecord !== undefined, ['perRecord'], 'is only possible for the audit reports of the specification'],
  ]
  return checks.filter(([isWrong]) => isWrong).map(([, path, problem]) => ({ path, problem }))
}
