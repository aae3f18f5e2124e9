/** A receiver that is down: status, check and the console name it, nothing else suffers, and it catches up by itself. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, inject, it } from 'vitest'
import { until } from '../cli/support.ts'
import { aMember, aWindow, launched, violations } from '../console/browser.ts'
import { aConsole, type Consoled } from '../console/support.ts'
import { aReceiver, SIGNING_SECRET } from './receiver.ts'

interface Check {
  readonly check: string
  readonly result: string
  readonly found: string
  readonly code?: string
}

async function checkOf({ workshop }: Consoled, ...args: string[]): Promise<Check | undefined> {
  const { stdout } = await workshop.run('check', '--json', ...args)
  const { checks } = JSON.parse(stdout) as { checks: readonly Check[] }
  return checks.find(({ check }) => check === 'notify.data.pipeline')
}

it('a receiver that is down is named by status, check and the console until it has caught up', {
  timeout: 240_000,
  tags: 'long',
}, async () => {
  await using receiver = await aReceiver()
  receiver.answer(503)
  await using console = await aConsole({
    sandbox: { rows: 20, collections: false },
    settings: { notify: { data: { pipeline: { webhook: receiver.url, secret_file: 'pipeline-secret' } } } },
    before: ({ folder }) => writeFile(path.join(folder, 'pipeline-secret'), SIGNING_SECRET),
  })
  const { workshop, worker } = console
  await until(() => receiver.posted.length > 0, 'it was tried')
  const overview = () => console.ask<{ receivers_behind: object[]; status: number }>('/api/overview')
  await until(async () => (await overview()).receivers_behind.length === 1, 'the console knows it')

  const why =
    /behind since .+Z: 127\.0\.0\.1:\d+ did not accept a message: status 503 \(tries: \d+, waiting messages: 1\)/
  const { stdout, code } = await workshop.run('status')
  expect(code).toBe(0)
  expect(stdout).toMatch(
    new RegExp(`^notify\\.data\\.pipeline is ${why.source}\n  what to do: Check this receiver`, 'm'),
  )
  const status = JSON.parse((await workshop.run('status', '--json')).stdout) as { receivers_behind: object[] }
  expect(status.receivers_behind).toMatchObject([
    { receiver: 'notify.data.pipeline', why: expect.stringMatching(why), cure: expect.stringContaining('Check') },
  ])
  expect(await checkOf(console)).toMatchObject({ result: 'warn', found: expect.stringMatching(why) })
  expect(await checkOf(console, '--notify')).toMatchObject({ result: 'fail', code: 'DELIVERY_FAILED' })
  expect((await workshop.run('check', '--notify')).code).toBe(1)

  const browser = await launched(inject('chromium'))
  try {
    const context = await aMember(browser, console)
    await using person = await aWindow(context, console)
    const card = person.page.getByRole('region', { name: 'Receivers that are behind' })
    await card.getByText('notify.data.pipeline did not accept a message').waitFor()
    expect(await card.textContent()).toMatch(why)
    expect(await violations(person.page)).toEqual([])
  } finally {
    await browser.close()
  }

  receiver.answer(200)
  await until(async () => (await overview()).receivers_behind.length === 0, 'it caught up')
  const seen = receiver.posted.length
  expect(await checkOf(console, '--notify')).toMatchObject({ result: 'ok', found: expect.stringContaining('accepted') })
  expect(receiver.posted.slice(seen).map(({ notice }) => notice.event)).toContain('notify.test')
  expect(receiver.data()[0]).toMatchObject({ report: 'events', rows: { inserted: 20 } })
  for (const text of [worker.said(), stdout, JSON.stringify(status)]) {
    expect(text).not.toContain(SIGNING_SECRET)
    expect(text).not.toContain('marked-key')
  }
})
