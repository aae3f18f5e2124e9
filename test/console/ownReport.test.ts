/** A report of one's own and an audit trail beside it, as the worker schedules them and as its console shows them. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, inject, it } from 'vitest'
import { reportsOnly, until } from '../jobs/support.ts'
import { roomKeys } from '../support/roomKeys.ts'
import { aMember, aWindow, launched } from './browser.ts'
import { aConsole, TOKEN } from './support.ts'

const SETTINGS = {
  defaults: { every: '1s', reconcile_every: 'never', page_size: 50 },
  reports: reportsOnly({
    events: {},
    room_keys: {},
    audit_entries: { entities: [{ entity_id: 3, follows: 'events' }] },
  }),
}

it('a report of a declaration file runs by its schedule, and is in the overview, the metrics and the headline', {
  tags: 'long',
  timeout: 240_000,
}, async () => {
  await using console = await aConsole({
    sandbox: { rows: 30, seed: 3, declared: [roomKeys] },
    settings: SETTINGS,
    before: async (shop) => {
      await writeFile(path.join(shop.folder, 'room_keys.mjs'), `export const report = ${JSON.stringify(roomKeys)}`)
      await shop.configure({ ...SETTINGS, reports_from: '.' })
    },
  })
  interface Overview {
    readonly reports: readonly { readonly report: string; readonly rows: number }[]
  }
  const rowsOf = async (name: string) =>
    (await console.ask<Overview>('/api/overview')).reports.find(({ report }) => report === name)?.rows
  await until(async () => (await rowsOf('room_keys')) === 30)
  const { body } = await console.knock('/metrics', { headers: { authorization: `Bearer ${TOKEN}` } })
  expect(body).toContain('report="room_keys"')
  const browser = await launched(inject('chromium'))
  try {
    const context = await aMember(browser, console)
    await using person = await aWindow(context, console)
    await person.page.getByRole('link', { name: 'room_keys' }).first().waitFor()
    await person.page.getByText('without 1 audit report, whose mark moves only with a change').waitFor()
    await person.view('reports/room_keys')
    await person.page.getByRole('heading', { name: 'room_keys' }).first().waitFor()
    expect(person.complaints).toEqual([])
  } finally {
    await browser.close()
  }
})
