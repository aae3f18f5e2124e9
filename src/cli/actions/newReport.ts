/** `tidemark new-report`: guesses a declaration from saved responses, and explains each guess in a comment. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { isReportName } from '../../../schema/index.ts'
import { type Declaration, PAGES } from '../../../schema/report.ts'
import { CHILD_COLUMNS, snakeCase, SYSTEM_COLUMNS, TYPES } from '../../../schema/tables.ts'
import { problemsIn } from '../../client/problems.ts'
import { type SyncError, usageError } from '../../errors.ts'
import { parseInstant } from '../../instant.ts'
import { type SeenField, typeFor } from '../../plan/columns.ts'
import { has, Kind, type Kinds, NESTED, SCALARS } from '../../plan/kinds.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import { scanPage } from '../../staging/scanPage.ts'
import { counted, grouped } from '../layout.ts'
import type { Action } from '../shell.ts'

type Lists = readonly [string, SeenReport['rows']][]
type NewReportOptions = { readonly from: readonly string[] } & Partial<Record<'name' | 'path' | 'out', string>>

const SAVE = 'Save the body of a successful answer: an array of rows, or an object that contains such an array.'
const invalid = (message: string, cure = SAVE): SyncError => usageError(message, cure)

const digits = (_: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  typeof value === 'number' ? source : value

export const newReport: Action<NewReportOptions> = async ({ cwd, out }, { from, path: route = '', ...given }) => {
  const name = given.name ?? snakeCase(path.parse(from[0] ?? '').name)
  if (!/^[a-z][a-z0-9_]{0,47}$/.test(name) || name.includes('__') || isReportName(name))
    throw invalid(`the name ${name} is taken or not possible`, 'Use --name with small letters, digits and single _.')
  if (!/^(\/[^'\\\s]*)?$/.test(route)) throw invalid(`${route} is no path`, 'Begin --path with /, without blanks.')
  const catalog = new ObjectCatalog()
  const readPage = async (file: string) => parsePage(await readFile(path.resolve(cwd, file), 'utf8'), catalog)
  const refuse = (at: string, cure?: string) => (error: Error) => {
    throw invalid(`${at}: ${error.message}`, cure)
  }
  const pages = await Promise.all(from.map((file) => readPage(file).catch(refuse(file))))
  // A row can be on two pages, because rows move while pages are read.
  const rows = [...new Map(pages.flatMap((page) => page.rows.map((row) => [JSON.stringify(row), row]))).values()]
  const [first] = pages
  if (first === undefined || catalog.fields.length === 0) throw invalid(`${from.join(', ')}: no row has a field`)
  if (pages.some((page) => page.answer !== first.answer || page.pages.items !== first.pages.items))
    throw invalid('the files have different forms of answers', 'Name pages of one report only.')
  const text = declarationText({ ...first, name, path: route, fields: catalog.fields, rows })
  const written = given.out === undefined ? undefined : writeFile(path.resolve(cwd, given.out), text, { flag: 'wx' })
  await written?.catch(refuse(given.out ?? '', 'Choose a file that does not exist, in a folder that exists.'))
  out.write(given.out === undefined ? text : `${given.out}: written. Check its guesses; name it in reports_from.\n`)
  return 0
}

function parsePage(read: string, catalog: ObjectCatalog): Pick<SeenReport, 'answer' | 'pages' | 'rows'> {
  const text = read.replace(/^\uFEFF/, '')
  const parsed: unknown = JSON.parse(text, digits)
  const members = Object.entries<unknown>(Array.isArray(parsed) ? { [PAGES.items]: parsed } : Object(parsed))
  const lists = members.filter(([name, value]) => Array.isArray(value) && !/error|fail|problem/i.test(name)) as Lists
  const longest = lists.toSorted(([, a], [, b]) => b.length - a.length)[0]
  const [items, rows] = lists.find(([name]) => name === PAGES.items) ?? longest ?? []
  if (!items || !rows) throw invalid(`no array of rows, but ${problemsIn(Buffer.from(text))[0]?.message ?? ''}`)
  const counts = members.filter(([, value]) => /^\d+$/.test(String(value))).map(([name]) => name)
  const total = counts.find((name) => /^(?!.*page).*(total|count|found)/i.test(name)) ?? PAGES.total
  const pages = { ...PAGES, items, total }
  const answer = Array.isArray(parsed) ? 'array' : 'envelope'
  const [rejected] = scanPage(Buffer.from(text), { answer, key: [], catalog, numberPrefix: '', pages }).rejected
  if (rejected) throw invalid(`row ${rejected.row + 1}: ${rejected.reason}`)
  return { answer, pages, rows }
}

interface SeenReport extends Pick<Declaration, 'name' | 'path' | 'answer' | 'pages'> {
  readonly fields: readonly SeenField[]
  /** The rows of the responses. Numbers are strings, so that no digit is lost. */
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

type Guess = ReturnType<typeof guessesFrom>[number]

/** The accepted names. With longer names, the written file would not be formatted: the formatter wraps its lines. */
const [FIELD_NAME, COLUMN_NAME] = [/^[^'\\\p{C}]{1,48}$/u, /^(?!rowid$)[a-z][a-z0-9_]{0,47}$/]
const IDENTIFIER = /(^|_)(id|key|uuid|guid|code|number|no|ref|reference)$/

const INCLUDE_DELETED =
  "includeDeleted: 'includeDeleted', // to fill in: the parameter that requests deleted rows. Remove it if there is none"

function declarationText(seen: SeenReport): string {
  const { name, path, answer, pages, rows } = seen
  const guesses = guessesFrom(seen)
  const flags = guesses.filter(({ word, column }) => word === 'boolean' && /(^|_)(deleted|removed)$/.test(column))
  const flag = flags.find(({ column }) => column === 'is_deleted') ?? flags[0]
  const times = guesses.filter(({ word, column }) => word === 'dateTime' && /modif|updat|chang|edit/.test(column))
  const newerBy = times.toSorted((a, b) => sum(b) - sum(a)).slice(0, 2)
  return `/** ${meaningOf(name)}: \`tidemark new-report\` guessed this declaration from ${counted(rows.length, 'row')}. */
import { ${[...new Set(['defineReport', ...guesses.flatMap(({ word }) => word ?? [])])].toSorted().join(', ')} } from 'tidemark'

export const report = defineReport({
  name: '${name}',
  meaning: '${meaningOf(name)}',
  path:${path.length > 108 ? '\n    ' : ' '}'${path}', // to fill in: the part after {base_url}/reportingapi; scope, if the service demands one
  answer: '${answer}', // guess: the form of the answer
  // guess: the response fields for the items and the total. To fill in: the parameters for page number and size
  pages: ${block(Object.entries(pages).map(([property, value]) => `${property}: '${value}',`))},
  key: ${columns(keyOf(seen, guesses))}, // guess: distinct in ${counted(rows.length, 'row')}. To fill in, if none was found
  fields: ${block(guesses.filter(({ isCollection }) => !isCollection).map(({ line }) => line))},
  newerBy: ${columns(newerBy)}, // guess: times with such names, the latest first
  // to fill in: the parameters for modification times (these names are usual). If the service can filter by
  // creation time, add those too: created: { since: 'createdSince', until: 'createdUntil' }
  window: { since: 'modifiedSince', until: 'modifiedUntil', required: false },
  // guess: from the names of the fields. To fill in: write 'none' if the service never deletes rows
  deletes: ${flag ? `'flag',\n  deletedFlag: '${flag.name}',\n  ${INCLUDE_DELETED}` : "'absence',"}
  // to fill in: replace each name on the left (now the field's name) with the expand flag that adds the field
  expand: ${block(guesses.filter(({ isCollection }) => isCollection).map(({ line }) => line))},
})
`
}

const block = (lines: readonly string[]): string => (lines.length === 0 ? '{}' : `{\n    ${lines.join('\n    ')}\n  }`)
const columns = (list: readonly Guess[]): string => `[${list.map(({ column }) => `'${column}'`).join(', ')}]`
const sum = ({ values }: Guess): number =>
  values.reduce<number>((all, each) => all + (parseInstant(String(each)) ?? 0), 0)

function meaningOf(name: string): string {
  const words = name.replaceAll(/(?<=\p{Ll})(?=\p{Lu})|_/gu, ' ').trim()
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}

function guessesFrom({ name: report, fields, rows }: SeenReport) {
  const taken = new Set([...SYSTEM_COLUMNS, ...CHILD_COLUMNS].map(({ name }) => name))
  return fields.map(({ name, kinds }) => {
    const [column, word] = [snakeCase(name), wordFor(kinds)]
    const isCollection = word === 'many' || word === 'one'
    const own = isCollection ? `${report}__${column}` : column
    const values = rows.flatMap((row) => (Object.hasOwn(row, name) && (row[name] ?? '') !== '' ? [row[name]] : []))
    const share = `${grouped(values.length)} of ${counted(rows.length, 'row')}`
    // Only a boolean field may be named `is_deleted`, because it fills the system column of this name.
    const isFree = !taken.has(own) || (own === 'is_deleted' && word === 'boolean')
    if (word === undefined || !isFree || !FIELD_NAME.test(name) || !COLUMN_NAME.test(column)) {
      const shown = JSON.stringify(name).replaceAll(/[\p{C}\p{Z}]/gu, ' ')
      return { name, column, values, line: `// left out: ${shown} (in ${share}), which becomes a column by itself` }
    }
    taken.add(own)
    const property = /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u.test(name) ? name : `'${name}'`
    const call = `${word}('${isCollection ? name : meaningOf(name)}')`
    return { name, column, values, word, isCollection, line: `${property}: ${call}, // guess: the values in ${share}` }
  })
}

/** Returns the type of a field in the declaration, such as `boolean`. Returns undefined if no type fits all values. */
function wordFor(kinds: Kinds): string | undefined {
  if (!has(kinds, SCALARS) && (kinds & NESTED) === Kind.array) return 'many'
  if (!has(kinds, SCALARS) && (kinds & NESTED) === Kind.object) return 'one'
  const type = Object.entries(TYPES).find(([, each]) => each === typeFor(kinds, 'column'))?.[0]
  return type === 'date-time' ? 'dateTime' : type
}

/** Guesses the key: a field with distinct values. For the report `orders`, prefers `order_id` to `customer_id`. */
function keyOf({ name, rows }: SeenReport, guesses: readonly Guess[]): readonly Guess[] {
  const full = guesses.filter(({ word, values }) => /integer|string/.test(word ?? '') && values.length === rows.length)
  const rank = ({ column }: Guess) => {
    if (!IDENTIFIER.test(column)) return column === full[0]?.column ? 1 : 2
    return name.includes(column.replace(IDENTIFIER, '')) ? 0 : 1
  }
  const distinct = full.filter(({ values }) => new Set(values.map(String)).size === rows.length)
  return distinct.toSorted((a, b) => rank(a) - rank(b)).slice(0, 1)
}
