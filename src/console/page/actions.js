/** Buttons that start actions, and notices about the results. */
import { act, Failure, LOST, read } from './api.js'
import { sleep } from './clock.js'
import { wordFor } from './format.js'
import { html } from './html.js'
import { confirmed, notice, noticeOf } from './notices.js'
import { reload, state } from './state.js'

/** @typedef {import('../api/schemas.ts').Errand} Errand */
/** @typedef {import('./state.js').Question} Question */
/** @typedef {{ path: string, body: object, label: string, id: string, tone?: string, question?: Question | undefined }} Action */

const POLL_EVERY_MS = 1_000

/** @param {Action} action */
function actionButton({ id, label, tone = 'outline', path, body, question }) {
  if (!state.mayAct) return null
  const press = async () => {
    if (question === undefined || (await confirmed(question))) await carryOut(path, body)
  }
  return html`<button type="button" key=${id} id=${id} class=${tone} onClick=${onceAtATime(press)}>${label}</button>`
}

/** Ignores clicks while `work` runs. A disabled button would lose the focus. @param {() => Promise<void>} work */
export const onceAtATime =
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
    if (errand.state === 'running') notice(`${wordFor(errand.what)} ${errand.reports.join(', ')}: running`)
    reload()
    showEnd(errand.state === 'running' ? await endOf(errand) : errand)
  } catch (error) {
    noticeOf(error)
  }
  reload()
}

/** @param {Errand} errand @returns {Promise<Errand>} */
async function endOf(errand) {
  let now = errand
  while (now.state === 'running') {
    await sleep(POLL_EVERY_MS)
    // A failed request does not end the action, which runs in the worker. The page asks again.
    try {
      now = await read(`/api/errands/${errand.id}`)
    } catch (error) {
      if (!(error instanceof Failure && error.code === LOST)) throw error
    }
  }
  return now
}

/** @param {Errand} errand */
function showEnd({ outcomes, error }) {
  if (error !== null) return noticeOf(new Failure(error))
  for (const { text, error: problem } of outcomes) {
    notice(problem === null ? text : `${text}. ${problem.cure}`, problem === null ? 'good' : 'bad')
  }
}

/** @param {string} verb @param {string} label @param {{ title: string, text: string }} [question] to confirm first */
export const reportButton =
  (verb, label, question) =>
  (/** @type {string | readonly string[]} */ report, tone = 'outline') => {
    const reports = [report].flat()
    const asked = question && { ...question, title: `${question.title} ${reports.join(', ')}?`, yes: label }
    const id = `${verb}-${reports.join('-')}`
    return actionButton({ path: `/api/${verb}`, body: { reports }, label, id, tone, question: asked })
  }

export const syncButton = reportButton('sync', 'Run now')
export const resumeButton = reportButton('resume', 'Resume')
export const pauseButton = reportButton('pause', 'Pause')
export const retryButton = reportButton('rejected/retry', 'Load them again')

export const reconcileButton = reportButton('reconcile', 'Reconcile', {
  title: 'Compare all rows of',
  text: 'A reconcile reads the whole report and repairs what differs. It marks rows as deleted that two reconciles in a row did not find. It may take a while; other runs continue meanwhile.',
})

export const resetButton = reportButton('reset', 'Start over', {
  title: 'Start over with',
  text: 'All rows are read again, as in the first run. Readers see the old rows until then. At the end, all rows that the service did not return are marked as deleted, even if they are many. This can not be undone.',
})

/** @param {string} id @param {string} name */
export const cancelButton = (id, name) =>
  actionButton({
    path: '/api/cancel',
    body: { id },
    label: 'Cancel',
    id: `cancel-${id}`,
    question: {
      title: `End ${name}?`,
      text: 'Committed rows stay; the rest is dropped. The next sync starts as scheduled; a backfill does not start again.',
      yes: 'End it',
    },
  })
