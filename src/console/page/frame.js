/** The frame around every view: header, banner, notices and the dialog for confirmations. */
import { act } from './api.js'
import { byId, html } from './html.js'
import { noticeOf } from './notices.js'
import { state } from './state.js'
import { isDark, switchTheme } from './theme.js'

const VIEWS = /** @type {const} */ ([
  ['', 'Overview'],
  ['runs', 'Runs'],
  ['rejected', 'Rejected'],
  ['backfills', 'Backfills'],
  ['explorer', 'Explorer'],
])

export const frame = () => html`
  <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
  <header>
    <nav class="container" aria-label="Main">
      <ul>
        <li>
          <a class="contrast" href="#/">
            <img src="/page/mark.svg" alt="" width="28" height="28" /> <strong>Tidemark</strong>
          </a>
        </li>
      </ul>
      <ul>${VIEWS.map(link)}</ul>
      <ul>
        <li>${themeButton()}</li>
        <li><button type="button" id="logout" class="outline secondary" onClick=${logOut}>Log out</button></li>
      </ul>
    </nav>
  </header>
  <div id="connection" class="container" role="status" hidden=${state.isConnected}>
    ${!state.isConnected && html`<article class="warn">The worker does not answer. This page continues by itself when it is back.</article>`}
  </div>
  <main id="main" class="container" tabindex="-1">
    ${state.drawView?.() ?? html`<p class="faint">Loading …</p>`}
  </main>
  <div id="notices" class="notices" role="status" aria-live="polite">
    ${state.notices.map(({ text, tone }) => html`<article class=${tone}>${text}</article>`)}
  </div>
  ${dialog(state.question)}
`

/** @param {readonly [string, string]} view */
function link([view, name]) {
  const current = state.place.view === 'reports' ? '' : state.place.view
  return html`
    <li><a class="secondary" href="#/${view}" aria-current=${view === current ? 'page' : null}>${name}</a></li>
  `
}

function themeButton() {
  const other = isDark() ? 'Light' : 'Dark'
  const label = `Switch to ${other.toLowerCase()} colours`
  return html`<button type="button" id="theme" class="outline secondary" aria-label=${label} onClick=${switchTheme}>${other}</button>`
}

/** @param {typeof state['question']} question */
const dialog = (question) => html`
  <dialog id="ask" aria-labelledby="ask-title">
    ${
      question &&
      html`
      <article>
        <h2 id="ask-title">${question.title}</h2>
        <p>${question.text}</p>
        <form method="dialog" class="row">
          <button value="yes">${question.yes}</button>
          <button value="no" class="outline">Leave it</button>
        </form>
      </article>`
    }
  </dialog>
`

/** A link to `#main` would replace the view in the address. @param {Event} event */
function skip(event) {
  event.preventDefault()
  byId('main').focus()
}

const logOut = () =>
  void act('/api/session', undefined, { method: 'DELETE' }).then(() => location.assign('/login'), noticeOf)
