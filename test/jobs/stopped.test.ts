/** A command that is stopped while a worker does its work: the work goes on, and the command says so and only that. */
import { expect, it } from 'vitest'
import { aWorkshop, hasSaid, OWNS, reportsOnly, until } from './support.ts'

const GOES_ON = 'The worker goes on with it; "tidemark status" shows how far it is.'
/** Commands that are begun behind others and have ended: those have asked by then, however slow the machine is. */
const BEHIND = 4

it('prints only that the worker continues the work; with --json in its one document', { tags: 'long' }, async () => {
  await using shop = await aWorkshop({
    store: 'redis',
    sandbox: { faults: ['slow@enquiries:60000'] },
    settings: { defaults: { every: '1d', reconcile_every: 'never' }, reports: reportsOnly({ enquiries: {} }) },
  })
  const worker = shop.worker()
  await until(() => hasSaid(worker, OWNS))
  const commands = [
    ['sync', 'enquiries'],
    ['backfill', 'enquiries'],
    ['sync', 'enquiries', '--json'],
  ]
  const asked = commands.map((args) => shop.start(args))
  for (let n = 0; n < BEHIND; n += 1) await shop.start(['status']).ended
  for (const each of asked) each.kill('SIGINT')
  const [sync, backfill, machine] = await Promise.all(asked.map(({ ended }) => ended))
  for (const told of [sync, backfill]) expect(told).toMatchObject({ code: 130, stdout: '', stderr: `${GOES_ON}\n` })
  expect(machine?.code).toBe(130)
  expect(JSON.parse(machine?.stdout ?? '')).toMatchObject({ error: { code: 'CANCELLED', cure: GOES_ON } })
})
