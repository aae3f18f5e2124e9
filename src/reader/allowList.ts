/** Lets readers run one SELECT with functions from a list. DuckDB's own parser reads the statement. */
import { readFileSync } from 'node:fs'
import { SyncError } from '../errors.ts'
import { type Sql, text } from '../warehouse/database/sql.ts'

export const [FUNCTIONS = [], TABLE_FUNCTIONS = [], LAKE_FUNCTIONS = []] = readFileSync(
  new URL('./allowedFunctions.txt', import.meta.url),
  'utf8',
)
  .replaceAll(/^#.*\n/gm, '')
  .trim()
  .split(/\n{2,}/)
  .map((names) => names.split(/\s+/))

/** Matches the EXPLAIN that is removed before parsing. An EXPLAIN after an SQL comment is not found. */
const EXPLAIN = String.raw`(?i)^\s*EXPLAIN\s+(ANALYZE\s+)?`

const CALLS = `list_transform(json_extract_string(tree, '$..function_name'), lambda each: lower(each))`
const TABLE_CALLS = `list_transform(json_extract_string(tree, '$..function.function_name'), lambda each: lower(each))`
const READS = `list_transform(json_extract_string(tree, '$..table_name'), lambda each: lower(each))`

/** Lists the functions and tables that each view and each macro uses. */
const DEFINITIONS = `
  SELECT kind, lower(name) AS name, tree->>'error' = 'false' AS is_parsed,
    ${CALLS} AS calls, ${TABLE_CALLS} AS table_calls, ${READS} AS reads
  FROM (
    SELECT kind, name, json_serialize_sql(body) AS tree FROM (
      SELECT 'view' AS kind, view_name AS name, regexp_replace("sql", '^CREATE (TEMP )?VIEW .*? AS ', '', 's') AS body FROM duckdb_views()
      UNION ALL
      SELECT function_type, function_name, if(function_type = 'macro', 'SELECT ', '') || macro_definition
      FROM duckdb_functions() WHERE function_type IN ('macro', 'table_macro')))`

interface Definition {
  readonly kind: 'view' | 'macro' | 'table_macro'
  readonly name: string
  readonly is_parsed: boolean
  readonly calls: readonly string[]
  readonly table_calls: readonly string[]
  readonly reads: readonly string[]
}

/** Creates the macro `refusal`, which returns why a statement is refused. */
export async function createRule(sql: Sql, place?: string): Promise<void> {
  const { functions, tableFunctions, refusedViews } = listsFor(await sql.rows<Definition>(DEFINITIONS))
  const create = `CREATE OR REPLACE ${place === undefined ? 'TEMP ' : ''}MACRO ${place ?? ''}`
  const refused = `list_filter(${READS}, lambda each: list_contains([${[...refusedViews].map(text).join(',')}], each))`
  await sql.run(`${create}refused_names(tree) AS
    list_concat(${namesOutside(CALLS, functions)}, ${namesOutside(TABLE_CALLS, tableFunctions)}, ${refused})`)
  await sql.run(`${create}refusal_of(tree) AS CASE
    WHEN tree->>'error' IS DISTINCT FROM 'false' THEN coalesce(tree->>'error_message', 'it cannot be parsed')
    WHEN json_array_length(tree, '$.statements') = 0 THEN 'there is no statement to run'
    WHEN json_array_length(tree, '$.statements') > 1 THEN 'there are ' || json_array_length(tree, '$.statements') || ' statements to run'
    WHEN len(${place ?? ''}refused_names(tree)) > 0 THEN ${place ?? ''}refused_names(tree)[1] || ' is not on the list of functions for readers'
  END`)
  await sql.run(`${create}refusal(statement) AS if(contains(statement, chr(0)), 'it contains a zero byte',
    ${place ?? ''}refusal_of(json_serialize_sql(regexp_replace(statement, '${EXPLAIN}', ''))))`)
}

const namesOutside = (names: string, list: ReadonlySet<string>): string =>
  `list_filter(${names}, lambda each: NOT list_contains([${[...list].map(text).join(',')}], each))`

/** A view or macro that uses a refused name is refused too, so this search repeats. */
function listsFor(definitions: readonly Definition[], refused: readonly Definition[] = []): Lists {
  const lists = listsWithout(refused, definitions)
  const others = definitions.filter(
    ({ is_parsed, calls, table_calls, reads }) =>
      !is_parsed ||
      calls.some((each) => !lists.functions.has(each)) ||
      table_calls.some((each) => !lists.tableFunctions.has(each)) ||
      reads.some((each) => lists.refusedViews.has(each)),
  )
  return others.length === refused.length ? lists : listsFor(definitions, others)
}

type Lists = ReturnType<typeof listsWithout>

function listsWithout(refused: readonly Definition[], definitions: readonly Definition[]) {
  const names = (kind: Definition['kind'], from: readonly Definition[]) =>
    from.filter((each) => each.kind === kind).map((each) => each.name)
  const allowed = (listed: readonly string[], kind: Definition['kind']) =>
    [...listed, ...names(kind, definitions)].filter((each) => !names(kind, refused).includes(each))
  const tableFunctions = allowed([...TABLE_FUNCTIONS, ...LAKE_FUNCTIONS], 'table_macro')
  return {
    functions: new Set([...allowed(FUNCTIONS, 'macro'), ...tableFunctions]),
    tableFunctions: new Set(tableFunctions),
    refusedViews: new Set(names('view', refused)),
  }
}

/** Throws QUERY_FAILED if readers are not allowed to run the statement. */
export async function checkStatement(sql: Pick<Sql, 'rows'>, statement: string): Promise<void> {
  const [found] = await sql.rows<{ reason: string | null }>('SELECT refusal($1) AS reason', [statement])
  const reason = found?.reason ?? undefined
  if (reason === undefined) return
  if (reason.startsWith('Only SELECT')) throw notReading(statement)
  throw new SyncError('QUERY_FAILED', reason, {
    cure: / list of functions /.test(reason)
      ? 'Readers may call functions that compute from their arguments or describe the tables. For files and settings of your own, open the published copy from a DuckDB of your own.'
      : 'Write one statement, such as "SELECT * FROM tidemark.freshness".',
  })
}

function notReading(statement: string): SyncError {
  const isSetting = /^\s*(?:SET|PRAGMA|RESET)\b/i.test(statement)
  const keyword = /^(?:\s|--.*|\/\*[^]*?\*\/)*(\w+)/.exec(statement)?.[1]?.toUpperCase() ?? 'another one'
  const what = statement.replace(/;[\s;]*$/, '').includes(';')
    ? 'there may be several statements here'
    : `this is ${keyword}`
  return new SyncError('QUERY_FAILED', `only one reading statement is run here, ${what}`, {
    cure: isSetting
      ? 'Leave the setting out: each statement runs with the settings of the reader. limits.query_memory, query_disk and query_time limit it.'
      : /\bpivot/i.test(statement)
        ? 'A PIVOT is one statement only if it names its values: PIVOT events ON status IN (…) USING count(*).'
        : 'Write a SELECT. The published copy is replaced after each run. To keep results, write them to a file with --format csv, or open the copy from a database of your own.',
  })
}
