/**
 * The page's beginning: it reads the address behind the #, draws the view that it names, and keeps that fresh, from the live
 * stream while something runs and every few seconds else.
 */
import { whenActed } from './acts.js'
import { act, Failure, read } from './api.js'
import * as backfills from './backfills.js'
import { forgetCharts } from './charts.js'
import { after } from './clock.js'
import { byId, el, fill, hasMarked } from './dom.js'
import { reportNames } from './filters.js'
import { liveNow, watchLive } from './live.js'
import { noticeOf } from './notices.js'
import * as overview from './overview.js'
import { runningCard } from './pieces.js'
import { released } from './press.js'
import * as rejected from './rejected.js'
import * as report from './report.js'
import * as run from './run.js'
import * as runs from './runs.js'
import { themeSwitch } from './theme.js'

/** @typedef {import('./filters.js').Place} Place */
/** @typedef {import('./dom.js').Child} Child */
/**
 * @typedef {{
 *   title: (place: Place) => string,
 *   load: (place: Place) => Promise<unknown>,
 *   draw: (data: never, place: Place) => Child[],
 *   keeps?: string,
 *   drawKept?: (data: never, place: Place) => Child[],
 * }} View
 */

const FRESH_EVERY_MS = 10_000

/** @param {Place} place @returns {View} */
function viewOf({ view, name }) {
  if (view === 'reports' && name !== '') return report
  if (view === 'runs') return name === '' ? runs : run
  if (view === 'rejected') return rejected
  if (view === 'backfills') return backfills
  return overview
}

/** @returns {Place} */
function placeNow() {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [view = '', name = ''] = path.split('/')
  return { view, name: decoded(name), query: new URLSearchParams(query) }
}

/** An address may have been cut off where it was copied. @param {string} name */
function decoded(name) {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** @param {Place} place */
const spotOf = ({ view, name }) => `${view}/${name}`

const main = byId('main')
let spot = ''
/** How often the page asked for what it shows. Answers come in any order, and runs may end faster than a slow one comes. */
let asked = 0
/** Of these, the one that is drawn, and the one that asked for another view. */
let drawn = 0
let opened = 0
/** Where the keys were as it did. @type {Element | null} */
let openedFrom = null
let callOff = () => {}

/** `byItself`: nobody asked for it. @param {{ isNew: boolean, byItself?: boolean }} how */
async function show({ isNew, byItself = false }) {
  callOff()
  // Nobody looks; it is drawn when somebody does.
  if (document.hidden && !isNew) return
  const mine = (asked += 1)
  const { hash } = location
  const place = placeNow()
  const view = viewOf(place)
  if (isNew) {
    opened = mine
    openedFrom = document.activeElement
    markPlace(place, view)
  }
  // Another view was asked for meanwhile, or this one is drawn already as it was later.
  const isOutdated = () => mine < opened || mine < drawn
  try {
    await nameReports()
    const data = /** @type {never} */ (await view.load(place))
    await released()
    if (isOutdated()) return
    if (!byItself || drawn < opened || !hasMarked(main)) {
      draw(view, { data, place, hash })
      drawn = mine
    }
  } catch (error) {
    await released()
    // What is shown already stays; it is better than nothing.
    if (drawn < opened && !isOutdated()) tellFailure(error)
  }
  if (mine === asked) callOff = after(FRESH_EVERY_MS, () => void show({ isNew: false, byItself: true }))
}

/** @param {View} view @param {{ data: never, place: Place, hash: string }} what */
function draw(view, { data, place, hash }) {
  // Whichever answer comes first opens the view.
  const opens = drawn < opened
  const kept = opens || view.keeps === undefined ? null : document.getElementById(view.keeps)
  if (kept !== null && view.drawKept !== undefined) fill(kept, ...view.drawKept(data, place))
  else {
    forgetCharts()
    fill(main, ...view.draw(data, place))
    // What is shown, for who waits for it.
    main.dataset['shown'] = hash
  }
  // Another choice in the same view leaves the focus where it was made.
  if (opens && spotOf(place) !== spot && !hasGoneOn()) byId('title').focus({ preventScroll: true })
  spot = spotOf(place)
}

/** The keys went to another place while the view was awaited: taking them from there would be in their way. */
function hasGoneOn() {
  const { activeElement: now } = document
  const wasInView = now !== main && main.contains(now)
  return now !== openedFrom && now !== document.body && !wasInView
}

/** Once; the names are the configuration's, and a worker with another one is another process. */
async function nameReports() {
  if (reportNames.length > 0) return
  const { reports } = /** @type {import('../api/shapes.ts').Overview} */ (await read('/api/overview'))
  // Two views may have asked in the same moment.
  if (reportNames.length === 0) reportNames.push(...reports.map((each) => each.report))
}

/** @param {unknown} error */
function tellFailure(error) {
  const { message, cure } = error instanceof Failure ? error : { message: String(error), cure: '' }
  fill(
    main,
    el('h1', { id: 'title', tabindex: '-1' }, 'This could not be shown'),
    el('p', {}, message),
    el('p', {}, cure),
  )
}

/** @param {Place} place @param {View} view */
function markPlace(place, view) {
  document.title = `${view.title(place)} · Tidemark`
  const current = place.view === '' || place.view === 'reports' ? 'overview' : place.view
  for (const link of document.querySelectorAll('nav a')) {
    if (/** @type {HTMLElement} */ (link).dataset['view'] === current) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

function begin() {
  // The part behind the # is the place of a view, so the jump is made by hand.
  document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault()
    main.focus()
  })
  addEventListener('hashchange', () => void show({ isNew: true }))
  document.addEventListener('visibilitychange', () => void show({ isNew: false }))
  whenActed(() => void show({ isNew: false }))
  themeSwitch(byId('theme'), () => void show({ isNew: false }))
  byId('logout').addEventListener('click', () => {
    act('/api/session', undefined, 'DELETE').then(() => location.assign('/login'), noticeOf)
  })
  watchLive({
    onConnection: (isThere) => {
      const banner = byId('connection')
      banner.hidden = isThere
      banner.textContent = isThere ? '' : 'The worker does not answer. This page goes on by itself when it is back.'
    },
    onState: (hasChanged) => {
      if (hasChanged) void show({ isNew: false, byItself: true })
      else void drawRunning()
    },
  })
}

/** Only what goes on; the rest of the view stays as it is. */
async function drawRunning() {
  await released()
  const place = document.getElementById('running')
  if (place === null || hasMarked(place)) return
  const { view, name } = placeNow()
  const isShown = (/** @type {import('./live.js').RunningRun} */ run) => {
    if (view === 'backfills') return run.kind === 'backfill'
    if (view === 'reports') return run.report === name
    return view !== 'runs' || run.run_id === name
  }
  fill(place, runningCard(liveNow().running.filter(isShown)))
}

begin()
await show({ isNew: true })
