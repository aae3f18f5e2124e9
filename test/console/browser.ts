/** A person with a real browser in front of the console, and a judge of what they meet: axe-core. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { type Consoled, cookieOf, TOKEN } from './support.ts'

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** Chromium's own sandbox does not work for root. */
export const launched = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })

/** A busy machine may take its time: the test's own limit ends what never comes. */
const PATIENCE_MS = 200_000

/** Of a view with many alike. */
const PLACES_MAX = 12

/** What the page complained of: scripts that failed, what the policy refused. */
export interface Person extends AsyncDisposable {
  readonly page: Page
  readonly complaints: readonly string[]
  /** Opens a view and waits until it is there. */
  view(name: string): Promise<void>
}

/** Opens the console as somebody who is not logged in, with a browser of their own. */
export async function aPerson(
  browser: Browser,
  { url }: Pick<Consoled, 'url'>,
  options: BrowserContextOptions = {},
): Promise<Person> {
  const context = await aContext(browser, options)
  return await personAt(context, url, () => context.close())
}

/** Opens a browser that is logged in. Its windows share its cache, so that all but the first one load fast. */
export async function aMember(
  browser: Browser,
  console: Consoled,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await aContext(browser, options)
  const [name = '', value = ''] = (await cookieOf(console)).split('=')
  await context.addCookies([{ name, value, url: console.url }])
  return context
}

/** Opens a window of somebody who is logged in. */
export async function aWindow(context: BrowserContext, { url }: Pick<Consoled, 'url'>): Promise<Person> {
  const person = await personAt(context, url, () => person.page.close())
  await person.page.locator('main h1').first().waitFor()
  return person
}

async function aContext(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  return context
}

async function personAt(context: BrowserContext, url: string, close: () => Promise<void>): Promise<Person> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text())
  })
  await page.goto(url)
  return {
    page,
    complaints,
    view: async (name) => {
      await page.goto(`${url}/#/${name}`)
      await page.locator(`main[data-shown="#/${name}"] h1`).first().waitFor()
    },
    [Symbol.asyncDispose]: close,
  }
}

export async function giveToken({ page }: Pick<Person, 'page'>, token = TOKEN): Promise<void> {
  await page.getByLabel('Token of the console').fill(token)
  await page.getByRole('button', { name: 'Log in' }).click()
}

export async function logIn(person: Pick<Person, 'page'>, token = TOKEN): Promise<void> {
  const { page } = person
  await giveToken(person, token)
  await page.getByRole('navigation').waitFor()
  await page.locator('main h1').first().waitFor()
}

/** What axe-core finds wrong, a line each. */
export async function violations(page: Page): Promise<string[]> {
  // By the debugger and not as an element of the page: its policy allows no such script.
  await page.evaluate(AXE)
  return await page.evaluate<string[]>(`axe.run(document).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + node.target.join(' ') + ' ' + node.failureSummary)))`)
}

/** Tells a page whether its window is in front: without a screen, none ever goes behind another. */
export const lookedAt = (page: Page, isLookedAt: boolean): Promise<void> =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${!isLookedAt}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)

/** Set on the page's main element each time when the answer to a request is drawn. */
const DRAWN = `{ attributeFilter: ['data-shown'] }`

/** Makes the page load and draw its view again, as it does every few seconds, and waits until it is drawn. */
export const redraw = (page: Page): Promise<void> =>
  page.evaluate(`new Promise((resolve) => {
    new MutationObserver(resolve).observe(document.getElementById('main'), ${DRAWN})
    dispatchEvent(new Event('hashchange'))
  })`)

/** Returns what loses the focus when the switch between light and dark redraws the view; a line each. */
export async function lostByRedraw(page: Page): Promise<string[]> {
  return await page.evaluate<string[]>(`(async () => {
    const main = document.getElementById('main')
    const places = () => [...main.querySelectorAll('h1, a, button, input, select, summary')]
    const lost = []
    for (let place = 0; place < Math.min(places().length, ${PLACES_MAX}); place += 1) {
      const { localName, id, href, textContent } = places()[place]
      places()[place].focus()
      const drawn = new Promise((resolve) => new MutationObserver(resolve).observe(main, ${DRAWN}))
      document.getElementById('theme').click()
      await drawn
      await new Promise((resolve) => setTimeout(resolve))
      const now = document.activeElement
      if (now.localName !== localName || now.id !== id || now.href !== href) lost.push(textContent)
    }
    return lost
  })()`)
}

/** How far the page is wider than its window, in pixels. */
export const tooWide = (page: Page): Promise<number> =>
  page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth')

/** One view of each kind. */
export const VIEWS = [
  '',
  'reports/events',
  'reports/enquiries',
  'runs',
  'rejected',
  'backfills',
  'explorer',
  'explorer?table=current.events',
]

/** Returns the identifier of the last failed run of events. */
export async function failedRunOf(console: Consoled): Promise<string> {
  const { runs } = await console.ask<{ runs: { run_id: string }[] }>('/api/runs?report=events&state=failed')
  return runs[0]?.run_id ?? ''
}
