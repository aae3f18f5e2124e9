/** The explorer: an SQL editor for the published copy, and a list of the copy's tables. */
import { act, failureText, read } from './api.js'
import { nowMs } from './clock.js'
import { lead, section, table } from './components.js'
import { select } from './filters.js'
import { counted, duration, grouped, moment } from './format.js'
import { byId, html } from './html.js'
import { change } from './state.js'

/** @typedef {import('zod').infer<typeof import('../api/schemas.ts').QueryAnswer>} QueryAnswer */
/** @typedef {import('zod').infer<typeof import('../api/schemas.ts').Tables>} Tables */
/** @typedef {import('./html.js').Content} Content */

const ROWS_MAX = 10_000
const ROWS_SHOWN = 500
const HISTORY_MAX = 50
const TABLES_REUSED_MS = 60_000

let kept = { path: '', untilMs: 0, content: /** @type {Content} */ (undefined) }

const draft = {
  sql: 'SELECT report, mark, lag, rows, deletes_visible FROM tidemark.freshness',
  /** The statement of the last link. If it has not changed, a redraw keeps the user's edits. @type {string | null} */
  linked: null,
  note: /** @type {Content} */ (''),
  result: /** @type {Content} */ (''),
  /** @type {AbortController | undefined} */
  running: undefined,
}

/** @param {Partial<typeof draft>} changed */
const edit = (changed) => Object.assign(draft, changed) && change({})

/** @param {string} sql */
function write(sql) {
  edit({ sql })
  byId('sql').focus()
}

export const title = () => 'Explorer'

/** @param {{ query: URLSearchParams }} place @returns {Promise<Content>} */
export async function load({ query }) {
  openLink(query.get('sql'))
  const name = query.get('table')
  const path = `/api/tables${name === null ? '' : `?${new URLSearchParams({ table: name })}`}`
  if (kept.path !== path || nowMs() > kept.untilMs)
    kept = { path, content: tablesOf(await read(path)), untilMs: nowMs() + TABLES_REUSED_MS }
  return kept.content
}

/** Does not run the statement of a link: another person may have written it. @param {string | null} sql */
function openLink(sql) {
  if (sql === draft.linked) return
  draft.linked = sql
  const note = 'This statement came with a link. It has not run. Read it, then press Run.'
  if (sql !== null && sql !== draft.sql) Object.assign(draft, { sql, note, result: '' })
}

/** @param {Content} tables */
export const draw = (tables) => [
  lead('Explorer', 'Statements read the published copy and change nothing. Begin with the schema current.'),
  html`
    <form aria-label="Statement" onSubmit=${run} onKeyDown=${onKey}>
      <label for="sql">SQL (Ctrl+Enter runs it, Escape cancels)</label>
      <textarea id="sql" rows="6" spellcheck="false" autocapitalize="off" value=${draft.sql}
        onInput=${(/** @type {{ target: { value: string } }} */ { target }) => edit({ sql: target.value })}></textarea>
      <div class="row">
        <button id="run" aria-disabled=${draft.running !== undefined}>Run</button>
        <button type="button" id="cancel" class="outline ${draft.running ? '' : 'secondary'}" aria-disabled=${draft.running === undefined} onClick=${cancel}>Cancel</button>
        <a id="link" href="#/explorer?${new URLSearchParams({ sql: draft.sql })}">Link to this statement</a>
      </div>
      ${select({ name: 'history', label: 'History of this browser', all: 'Choose a statement', names: stored(), chosen: null }, chooseStored)}
    </form>
    <section aria-label="Result"><p role="status">${draft.note}</p>${draft.result}</section>
  `,
  tables,
]

/** @param {Event} event */
async function run(event) {
  event.preventDefault()
  const { sql } = draft
  if (draft.running !== undefined || sql.trim() === '') return
  const running = new AbortController()
  const startMs = nowMs()
  const others = stored().filter((each) => each !== sql)
  localStorage.setItem('statements', JSON.stringify([sql, ...others].slice(0, HISTORY_MAX)))
  edit({ running, note: 'Running …' })
  try {
    const answer = /** @type {QueryAnswer} */ (await act('/api/query', { sql, limit: ROWS_MAX }, running))
    edit({ note: [...sizeOf(answer), ` It took ${duration((nowMs() - startMs) / 1_000)}.`], result: resultOf(answer) })
  } catch (error) {
    const isCancelled = running.signal.aborted
    edit({ note: isCancelled ? 'Cancelled.' : html`<span class="failure">${failureText(error)}</span>`, result: '' })
  }
  edit({ running: undefined })
}

const cancel = () => draft.running?.abort()
addEventListener('keydown', ({ key }) => key === 'Escape' && cancel())

/** @param {KeyboardEvent} event */
const onKey = (event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && run(event)

/** @returns {string[]} */
const stored = () => JSON.parse(localStorage.getItem('statements') ?? '[]')

/** @param {Event} event */
const chooseStored = ({ target }) => write(/** @type {HTMLSelectElement} */ (target).value || draft.sql)

/** @param {QueryAnswer} answer */
const sizeOf = ({ rows, more }) => [
  `${counted(rows.length, 'row')}.`,
  rows.length > ROWS_SHOWN && ` The table shows the first ${ROWS_SHOWN}.`,
  more && ` There are more: the limit is ${grouped(ROWS_MAX)} rows or 4 MB. "tidemark query" has no limit.`,
]

/** @param {QueryAnswer} answer */
const resultOf = (answer) => html`
  ${warrants(answer)} ${answerTable('Rows of the statement', answer)}
  <button type="button" id="csv" class="outline" onClick=${() => download(answer)}>Download CSV</button>
`

/** @param {Pick<QueryAnswer, 'reports'>} answer */
const warrants = ({ reports }) => html`<ul>${reports.map(({ text }) => html`<li>${text}</li>`)}</ul>`

/** @param {string} caption @param {QueryAnswer} answer */
const answerTable = (caption, { columns, rows }) => html`
  <div class="answer" role="region" tabindex="0" aria-label=${caption}>
    <table>
      <thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${rows.slice(0, ROWS_SHOWN).map((row) => html`<tr>${row.map((value) => html`<td>${value ?? html`<i>NULL</i>`}</td>`)}</tr>`)}</tbody>
    </table>
  </div>
`

/** @param {QueryAnswer} answer */
function download({ columns, rows }) {
  const csv = [columns, ...rows].map((row) => `${row.map(fieldOf).join(',')}\n`)
  const href = URL.createObjectURL(new Blob(csv, { type: 'text/csv' }))
  Object.assign(document.createElement('a'), { href, download: 'result.csv' }).click()
  URL.revokeObjectURL(href)
}

/** NULL becomes an empty field, and an empty text becomes `""`. @param {string | null} value */
const fieldOf = (value) => value?.replace(/^$|[^]*[",\r\n][^]*/, (text) => `"${text.replaceAll('"', '""')}"`) ?? ''

/** @param {Tables} tables */
const tablesOf = ({ tables: { rows }, table: chosen }) => [
  chosen && section('table-title', chosen.name, chosenTable(chosen, rows.find(([name]) => name === chosen.name)?.[1])),
  section('tables-title', 'Tables', ...['current', 'main', 'history', 'tidemark'].map((each) => schemaOf(each, rows))),
]

/** @param {NonNullable<Tables['table']>} chosen @param {Content} comment */
const chosenTable = ({ name, columns, count, sample }, comment) => html`
  <p>${comment}</p>
  <div class="row">
    <span>${counted(Number(count.rows[0]), 'row')}, ${counted(columns.rows.length, 'column')}</span>
    <button type="button" id="write" class="outline" onClick=${() => write(`SELECT * FROM ${name} LIMIT 100`)}>Write a statement</button>
  </div>
  ${warrants(sample)} ${answerTable(`Columns of ${name}`, columns)} ${answerTable(`Some rows of ${name}`, sample)}
`

/** @param {string} schema @param {Tables['tables']['rows']} all */
function schemaOf(schema, all) {
  const rows = all.flatMap(([name, comment, mark, deletes]) => {
    if (!name?.startsWith(`${schema}.`)) return []
    const link = html`<a id=${name} href="#/explorer?table=${name}">${name}</a>`
    const until = mark && moment(mark)
    return { key: name, Table: link, 'Deletions show': deletes, 'Complete up to (UTC)': until, Comment: comment }
  })
  return html`<details open=${schema === 'current'}><summary>${schema}: ${counted(rows.length, 'table')}</summary>${table(schema, rows)}</details>`
}
