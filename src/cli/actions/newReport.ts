/** `tidemark new-report`: writes the declaration of a report from answers of the service that are in files. */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { isReportName } from '../../../schema/index.ts'
import { PAGES } from '../../../schema/report.ts'
import { snakeCase } from '../../../schema/tables.ts'
import { problemsIn } from '../../client/problems.ts'
import { SyncError } from '../../errors.ts'
import { declarationText, type SeenReport } from '../../plan/declarationText.ts'
import { ObjectCatalog } from '../../staging/catalog.ts'
import { scanPage } from '../../staging/scanPage.ts'
import type { Action } from '../shell.ts'

type Lists = readonly [string, SeenReport['rows']][]
type NewReportOptions = { readonly from: readonly string[] } & Partial<Record<'name' | 'path' | 'out', string>>

const SAVE = 'Save the body of a successful answer: an array of rows, or an object that contains such an array.'
const invalid = (message: string, cure = SAVE): SyncError => new SyncError('USAGE_INVALID', message, { cure })

const digits = (_: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  typeof value === 'number' ? source : value

export const newReport: Action<NewReportOptions> = async ({ cwd, out }, { from, path: route = '', ...given }) => {
  const name = given.name ?? snakeCase(path.parse(from[0] ?? '').name)
  if (!/^[a-z][a-z0-9_]{0,47}$/.test(name) || name.includes('__') || isReportName(name))
    throw invalid(`the name ${name} is taken or not possible`, 'Use --name with small letters, digits and single _.')
  if (!/^(\/[^'\\\s]*)?$/.test(route)) throw invalid(`${route} is no path`, 'Begin --path with /, without blanks.')
  const catalog = new ObjectCatalog()
  const readPage = async (file: string) => pageOf(await readFile(path.resolve(cwd, file), 'utf8'), catalog)
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

/** Reads a page, and adds the fields of its rows to the catalogue. */
function pageOf(read: string, catalog: ObjectCatalog): Pick<SeenReport, 'answer' | 'pages' | 'rows'> {
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
  const [rejected] = scanPage(Buffer.from(text), { answer, key: [], catalog, numberMark: '', pages }).rejected
  if (rejected) throw invalid(`row ${rejected.row + 1}: ${rejected.reason}`)
  return { answer, pages, rows }
}
