/** Backfills: the form with its dry run, and the state of earlier backfills. */
import { cancelButton, carryOut, onceAtATime } from './actions.js'
import { act, failureText, read } from './api.js'
import { lead, pill, runningSection, section, table } from './components.js'
import { select } from './filters.js'
import { counted, grouped, moment } from './format.js'
import { byId, Component, html } from './html.js'
import { state } from './state.js'

/** @typedef {import('zod').infer<typeof import('../api/schemas.ts').Backfill>} Backfill */
/** @typedef {import('zod').infer<typeof import('../api/schemas.ts').Plan>} Plan */
/** @typedef {import('./place.js').Place} Place */

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
    backfills.length === 0 ? html`<article>None yet.</article>` : backfillTable(backfills),
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
    const [from, to] = [typed('backfill-from'), typed('backfill-to')]
    return { report: typed('backfill-report'), ...(from && { from }), ...(to && { to }) }
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
      <form aria-label="Backfill" onSubmit=${submit}>
        <article>
          <div class="grid">
            ${select({ id: 'backfill-report', label: 'Report', names: state.reportNames, chosen: report })}
            ${timeField('backfill-from', 'From (UTC)')} ${timeField('backfill-to', 'To (UTC)')}
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

/** @param {string} id */
const typed = (id) => /** @type {HTMLInputElement} */ (byId(id)).value.trim()

/** @param {string} id @param {string} label */
const timeField = (id, label) => html`
  <label>${label}<input id=${id} name=${id} placeholder="2024-01-31T08:00Z" autocomplete="off" /></label>
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
      ${windowTable(windows.slice(0, WINDOWS_LISTED))}
      ${more > 0 && html`<p class="faint">and ${counted(more, 'older window')}</p>`}
    </div>
  `
}

/** @param {Plan['windows']} windows */
const windowTable = (windows) =>
  table({
    caption: 'Windows of the plan, newest first',
    columns: [{ right: 'Window' }, 'From', 'To', 'Scope', { right: 'Rows' }, { right: 'Requests' }],
    rows: windows.map(({ number, since, until, scope, rows, requests }) => ({
      key: String(number),
      cells: [
        number,
        moment(since),
        moment(until),
        scope,
        rows === null ? 'unknown' : grouped(rows),
        rows === null ? `${grouped(requests)} or more` : grouped(requests),
      ],
    })),
  })

/** @param {readonly Backfill[]} backfills */
const backfillTable = (backfills) =>
  table({
    caption: 'Backfills, the newest request first',
    columns: ['Report', 'State', 'From', 'To', { right: 'Windows' }, { right: 'Rows' }, 'Act'],
    rows: backfills.map((each) => ({ key: each.backfill_id, cells: backfillCells(each) })),
  })

/** @param {Backfill} backfill */
const backfillCells = ({ backfill_id: id, report, state: ended, since, until, windows, done, failed, rows }) => [
  html`<a href="#/runs/${id}">${report}</a>`,
  pill(ended),
  moment(since),
  moment(until),
  `${done} / ${windows}${failed > 0 ? `, ${failed} failed` : ''}`,
  grouped(rows),
  ended === 'pending' || ended === 'failed' ? cancelButton(id, `the backfill of ${report}`) : '',
]
