/** Buttons that act: what they are called, what they ask for, and how their end is told. */
import { act, Failure, LOST, read } from './api.js'
import { sleep } from './clock.js'
import { el } from './dom.js'
import { said } from './format.js'
import { asked, notice, noticeOf } from './notices.js'

/** @typedef {import('../api/shapes.ts').Errand} Errand */
/** @typedef {{ path: string, body: object, label: string, id: string, tone?: string, question?: { title: string, text: string, yes: string } }} Act */

const LOOK_EVERY_MS = 1_000

/** Told after anything was done, so that the page shows it. */
let onActed = () => {}

/** @param {() => void} listener */
export function whenActed(listener) {
  onActed = listener
}

/** @param {Act} what */
export function actButton(what) {
  const { label, id, tone = '' } = what
  return el('button', { type: 'button', id, class: tone, click: pressed(() => press(what)) }, label)
}

/** @param {Act} what */
async function press({ id, path, body, question }) {
  const isWanted = question === undefined || (await asked(question))
  // The page may have been drawn anew behind the question.
  if (question !== undefined) document.getElementById(id)?.focus()
  if (isWanted) await carryOut(path, body)
}

/**
 * For a button: while what it began goes on, it does nothing. It isn't disabled, as that would take the focus from it.
 * @param {() => Promise<void>} work
 */
export const pressed =
  (work) =>
  (/** @type {Event} */ { currentTarget }) => {
    const button = /** @type {HTMLButtonElement} */ (currentTarget)
    if (button.ariaDisabled === 'true') return
    button.ariaDisabled = 'true'
    void work().finally(() => (button.ariaDisabled = null))
  }

/** @param {string} path @param {object} body */
export async function carryOut(path, body) {
  try {
    const errand = /** @type {Errand} */ (await act(path, body))
    if (errand.state === 'running') notice(`${said(errand.what)} ${errand.reports.join(', ')}: it runs now`)
    onActed()
    tell(errand.state === 'running' ? await ended(errand) : errand)
  } catch (error) {
    noticeOf(error)
  }
  onActed()
}

/** @param {Errand} errand @returns {Promise<Errand>} */
async function ended(errand) {
  let now = errand
  while (now.state === 'running') {
    await sleep(LOOK_EVERY_MS)
    // A worker that is away for a moment knows it still when it is back; that it is away is told above.
    now = await read(`/api/errands/${errand.id}`).catch(unlessLost(now))
  }
  return now
}

/** @param {Errand} known @returns {(error: unknown) => Errand} */
const unlessLost = (known) => (error) => {
  if (error instanceof Failure && error.code === LOST) return known
  throw error
}

/** @param {Errand} errand */
function tell({ outcomes, error }) {
  if (error !== null) return noticeOf(new Failure(error))
  for (const { text, error: problem } of outcomes) {
    notice(problem === null ? text : `${text}. ${problem.cure}`, problem === null ? 'good' : 'bad')
  }
}

/** @param {string} report */
export const syncButton = (report, tone = '') =>
  actButton({ path: '/api/sync', body: { reports: [report] }, label: 'Run now', id: `sync-${report}`, tone })

/** @param {string} report */
export const resumeButton = (report, tone = '') =>
  actButton({ path: '/api/resume', body: { reports: [report] }, label: 'Resume', id: `resume-${report}`, tone })

/** @param {string} report */
export const pauseButton = (report) =>
  actButton({ path: '/api/pause', body: { reports: [report] }, label: 'Pause', id: `pause-${report}` })

/** @param {string} report */
export const retryButton = (report, tone = '') =>
  actButton({
    path: '/api/rejected/retry',
    body: { reports: [report] },
    label: 'Load them again',
    id: `retry-${report}`,
    tone,
  })

/** @param {string} report */
export const reconcileButton = (report) =>
  actButton({
    path: '/api/reconcile',
    body: { reports: [report] },
    label: 'Reconcile',
    id: `reconcile-${report}`,
    question: {
      title: `Compare all of ${report} with the service?`,
      text: 'It reads the whole report, repairs what differs, and marks rows that two reconciles in a row did not find as deleted. It may take a while; other runs go on beside it.',
      yes: 'Reconcile',
    },
  })

/** @param {string} id @param {string} name */
export const cancelButton = (id, name) =>
  actButton({
    path: '/api/cancel',
    body: { id },
    label: 'Cancel',
    id: `cancel-${id}`,
    tone: 'danger',
    question: {
      title: `End ${name}?`,
      text: 'What it has committed stays; the rest is dropped. A sync begins again at its next turn, a backfill does not.',
      yes: 'End it',
    },
  })
