/** The page's entry point. Redraws the current view every 10 seconds, and when a run begins or ends. */
import { read } from './api.js'
import * as backfills from './backfills.js'
import { after } from './clock.js'
import { lead } from './components.js'
import * as explorer from './explorer.js'
import { frame } from './frame.js'
import { byId, Fragment, h, html, render } from './html.js'
import { watchLive } from './live.js'
import * as overview from './overview.js'
import { released } from './pressing.js'
import * as rejected from './rejected.js'
import * as report from './report.js'
import * as run from './run.js'
import * as runs from './runs.js'
import { change, placeNow, state } from './state.js'

/** @typedef {import('./state.js').Place} Place */
/** @typedef {import('./html.js').Content} Content */
/**
 * @typedef {{
 *   title: (place: Place) => string,
 *   load: (place: Place) => Promise<unknown>,
 *   draw: (data: never, place: Place) => Content,
 * }} View
 */

const REFRESH_EVERY_MS = 10_000

/** The views by address. The view of an address with a name, such as `runs/ID`, has the key `runs/`. */
const VIEWS = new Map(
  Object.entries(
    /** @type {Record<string, View>} */ ({ runs, rejected, backfills, explorer, 'runs/': run, 'reports/': report }),
  ),
)

/** @param {Place} place @returns {View} */
const viewOf = ({ view, name }) => VIEWS.get(name === '' ? view : `${view}/`) ?? overview

/** @param {Place} place */
const spotOf = ({ view, name }) => `${view}/${name}`

// Responses can arrive out of order. A response that is older than the drawn one is ignored.
let newestRequest = 0
let drawnRequest = 0
let opened = { request: 0, focused: /** @type {Element | null} */ (null) }
let drawnSpot = ''
let cancelRefresh = () => {}

function openView() {
  opened = { request: newestRequest + 1, focused: document.activeElement }
  const place = placeNow()
  document.title = `${viewOf(place).title(place)} · Tidemark`
  change({ place })
  void load()
}

function refresh() {
  if (!document.hidden) void load()
}

function refreshByItself() {
  if (!document.hidden) void load({ keepsSelection: true })
}

async function load({ keepsSelection = false } = {}) {
  cancelRefresh()
  const request = (newestRequest += 1)
  const { place } = state
  const { hash } = location
  const view = viewOf(place)
  const drawView = await answerOf(view, place)
  // Waits until no element is pressed. A redraw would replace the pressed element, and its click would be lost.
  await released()
  const isOutdated = request < opened.request || request < drawnRequest
  const isOpening = drawnRequest < opened.request
  if (!isOutdated && drawView instanceof Error) {
    // A failed refresh keeps the old content.
    if (isOpening) change({ drawView: () => failureView(drawView) })
  } else if (!isOutdated && (isOpening || !keepsSelection || !hasSelection())) {
    drawnRequest = request
    change({ drawView: () => h(Fragment, { key: spotOf(place) }, /** @type {() => Content} */ (drawView)()) })
    byId('main').dataset['shown'] = hash
    if (isOpening && spotOf(place) !== drawnSpot && !hasMovedFocus()) focusTitle()
    drawnSpot = spotOf(place)
  }
  if (request === newestRequest) cancelRefresh = after(REFRESH_EVERY_MS, refreshByItself)
}

/** @param {View} view @param {Place} place @returns {Promise<(() => Content) | Error>} */
async function answerOf(view, place) {
  try {
    if (state.reportNames.length === 0) {
      const { reports } = /** @type {import('../api/schemas.ts').Overview} */ (await read('/api/overview'))
      state.reportNames = reports.map((each) => each.report)
    }
    const data = /** @type {never} */ (await view.load(place))
    return () => view.draw(data, place)
  } catch (thrown) {
    return thrown instanceof Error ? thrown : new Error(String(thrown))
  }
}

/** @param {Error & { cure?: string }} error */
const failureView = ({ message, cure = '' }) => [
  lead('This could not be shown'),
  html`<p>${message}</p>`,
  html`<p>${cure}</p>`,
]

function hasSelection() {
  const selection = getSelection()
  return selection !== null && !selection.isCollapsed && byId('main').contains(selection.anchorNode)
}

const focusTitle = () => document.getElementById('title')?.focus({ preventScroll: true })

function hasMovedFocus() {
  const { activeElement: now } = document
  const main = byId('main')
  const wasInView = now !== main && main.contains(now)
  return now !== opened.focused && now !== document.body && !wasInView
}

const root = byId('page')

function draw() {
  const { activeElement: focused } = document
  render(frame(), root)
  // If the redraw removed the focused element, moves the focus to the title, where keyboard navigation continues.
  if (focused !== null && !focused.isConnected) focusTitle()
}

root.replaceChildren()
addEventListener('draw', draw)
addEventListener('reload', refresh)
addEventListener('hashchange', openView)
document.addEventListener('visibilitychange', refresh)
watchLive({
  onConnection: (isConnected) => change({ isConnected }),
  onState: (live, hasChanged) => {
    state.live = live
    if (hasChanged) refreshByItself()
    void released().then(() => hasSelection() || draw())
  },
})
// Hides action buttons from viewers. After an error, shows them: the server checks each action anyway.
void read('/api/session')
  .then(({ may_act: mayAct }) => change({ mayAct }))
  .catch(() => undefined)
  .finally(openView)
