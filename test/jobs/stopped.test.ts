/** A command that is stopped while a worker does its work: the work goes on, and the command says so and only that. */
import { expect, it } from 'vitest'
import { aWorkshop, hasSaid, OWNS, reportsOnly, until } from './support.ts'

const GOES_ON = 'The worker goes on with it; "tidemark status" shows how far it is.'
/** A command has asked long before; what was asked for takes much longer. */
const ASKED_MS = 6_000

it('says that the worker goes on with it, and nothing else; to a machine in its one document', async () => {
  await using shop = await aWorkshop({
    store: 'embedded',
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
  await new Promise((resolve) => void setTimeout(resolve, ASKED_MS))
  for (const each of asked) each.kill('SIGINT')
  const [sync, backfill, machine] = await Promise.all(asked.map(({ ended }) => ended))
  for (const told of [sync, backfill]) expect(told).toMatchObject({ code: 130, stdout: '', stderr: `${GOES_ON}\n` })
  expect(machine?.code).toBe(130)
  expect(JSON.parse(machine?.stdout ?? '')).toMatchObject({ error: { code: 'CANCELLED', cure: GOES_ON } })
})
