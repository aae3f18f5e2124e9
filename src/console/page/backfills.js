/** Backfills: the form with its dry run, and the state of earlier backfills. */
import { cancelButton, carryOut, onceAtATime } from './actions.js'
import { act, failureText, read } from './api.js'
import { lead, pill, runningSection, section, table } from './components.js'
import { select } from './filters.js'
import { counted, grouped, moment } from './format.js'
import { byId, Component, html } from './html.js'
import { state } from './state.js'

/** @import { Backfill } from '../api/schemas.ts' */
/** @typedef {import('zod').infer<typeof import('../api/schemas.ts').Plan>} Plan */
/** @typedef {import('./state.js').Place} Place */

export const title = () => 'Backfills'

/** @returns {Promise<{ backfills: Backfill[] }>} */
export const load = () => read('/api/backfills')

/** @param {{ backfills: Backfill[] }} data @param {Place} place */
export const draw = ({ backfills }, { query }) => [
  lead(
    'Backfills',
    'A backfill reads a range of modification time again, in proven windows, newest first. It moves no mark and gives way to syncs.',
  ),
  state.mayAct && html`<${BackfillForm} key=${query.get('report')} report=${query.get('report')} />`,
  runningSection(state.live.running.filter(({ kind }) => kind === 'backfill')),
  section(
    'earlier-title',
    'Earlier backfills',
    table('Backfills, the newest request first', backfills.map(backfillRow)),
  ),
]

/** @typedef {{ report: string | null }} FormProps */
/** @typedef {{ isAsking: boolean, plan: Plan | undefined, failure: string }} FormState */

const EMPTY = /** @type {FormState} */ ({ isAsking: false, plan: undefined, failure: '' })

/** @extends {Component<FormProps, FormState>} */
class BackfillForm extends Component {
  /** @type {FormState} */
  state = EMPTY
  newestDryRun = 0

  range() {
    const fields = [...new FormData(/** @type {HTMLFormElement} */ (byId('backfill')))]
    const texts = fields.map(([name, typed]) => [name, /** @type {string} */ (typed).trim()])
    return Object.fromEntries(texts.filter(([, text]) => text !== ''))
  }

  async dryRun() {
    const request = (this.newestDryRun += 1)
    const show = (/** @type {Partial<FormState>} */ result) => {
      if (request === this.newestDryRun) this.setState({ ...EMPTY, ...result })
    }
    show({ isAsking: true })
    try {
      show({ plan: await act('/api/backfills/plan', this.range()) })
    } catch (error) {
      show({ failure: failureText(error) })
    }
  }

  begin = async () => {
    this.newestDryRun += 1
    this.setState(EMPTY)
    await carryOut('/api/backfills', this.range())
  }

  /** @param {FormProps} props @param {FormState} state */
  render({ report }, { isAsking, plan, failure }) {
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault()
      void this.dryRun()
    }
    return html`
      <form id="backfill" aria-label="Backfill" onSubmit=${submit}>
        <article>
          <div class="grid">
            ${select({ name: 'report', label: 'Report', names: state.reportNames, chosen: report })}
            ${timeField('from', 'From (UTC)')} ${timeField('to', 'To (UTC)')}
          </div>
          <p><small>Left empty: from the configured start of the report, up to now.</small></p>
          <p class="failure" role="alert">${failure}</p>
          <div class="row">
            <button class="outline">Dry run</button>
            <button type="button" onClick=${onceAtATime(this.begin)}>Begin backfill</button>
          </div>
          <div aria-live="polite">
            ${isAsking && html`<p class="faint">Asking …</p>`} ${plan && planSection(plan)}
          </div>
        </article>
      </form>
    `
  }
}

/** @param {string} name @param {string} label */
const timeField = (name, label) => html`
  <label>${label}<input name=${name} placeholder="2024-01-31T08:00Z" autocomplete="off" /></label>
`

const WINDOWS_LISTED = 12

/** @param {Plan} plan */
function planSection({ report, since, until, goes_on: goesOn, requests, windows }) {
  const more = windows.length - WINDOWS_LISTED
  const what = goesOn ? 'This backfill began before and would continue' : 'It would read'
  const about = windows.some(({ rows }) => rows === null) ? 'at least' : 'about'
  const size = `${counted(windows.length, 'window')}, ${about} ${counted(requests, 'request')}`
  return html`
    <div>
      <p>${what}: ${size}, for ${report} from ${moment(since)} to ${moment(until)}. Nothing was written.</p>
      ${table('Windows of the plan, newest first', windows.slice(0, WINDOWS_LISTED).map(windowRow))}
      ${more > 0 && html`<p class="faint">and ${counted(more, 'older window')}</p>`}
    </div>
  `
}

/** @param {Plan['windows'][number]} window */
const windowRow = ({ number, since, until, scope, rows, requests }) => ({
  key: number,
  Window: number,
  From: moment(since),
  To: moment(until),
  Scope: scope,
  Rows: rows === null ? 'unknown' : grouped(rows),
  Requests: rows === null ? `${grouped(requests)} or more` : grouped(requests),
})

/** @param {Backfill} backfill */
const backfillRow = ({ backfill_id: id, report, state: ended, since, until, windows, done, failed, rows }) => ({
  key: id,
  Report: html`<a href="#/runs/${id}">${report}</a>`,
  State: pill(ended),
  From: moment(since),
  To: moment(until),
  Windows: `${done} / ${windows}${failed > 0 ? `, ${failed} failed` : ''}`,
  Rows: grouped(rows),
  Act: ended === 'pending' || ended === 'failed' ? cancelButton(id, `the backfill of ${report}`) : '',
})
