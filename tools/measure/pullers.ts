/** Compares a backfill by two pullers with one by a single puller: `node tools/measure/pullers.ts [ROWS] [ROUNDS]`. */
import { machineText } from '../../bench/machine.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock as clock } from '../../src/clock.ts'
import { aWorkshop, hasSaid, held, stop, until } from '../../test/jobs/support.ts'

const [rows = 4_000, rounds = 3] = process.argv.slice(2).map(Number)
const PAGE_MS = 200
const settings = { defaults: { every: '6h', reconcile_every: 'never', page_size: 50 } }

interface Filled {
  readonly seconds: number
  readonly windows: number
  readonly requests: number
}

async function fillWith(pullers: number): Promise<Filled> {
  await using shop = await aWorkshop({ store: 'redis', sandbox: { rows }, settings })
  const owner = shop.worker('--roles', 'load,schedule')
  await until(() => hasSaid(owner, 'published'))
  await using store = await openStore(shop.redis?.url ?? '', { directory: '', clock })
  const others = Array.from({ length: pullers }, () => shop.worker('--roles', 'pull'))
  await until(async () => (await store.workersOf('windows')) === pullers)
  shop.sandbox.setFaults([`slow:${PAGE_MS}`])
  const before = shop.sandbox.requests.total
  const { code } = await shop.run('backfill', 'events', '--quiet')
  const requests = shop.sandbox.requests.total - before
  await Promise.all([...others, owner].map(stop))
  const [found] = await held<{ seconds: number; windows: number }>(
    shop,
    `SELECT epoch(ended_at - started_at) AS seconds,
       (SELECT count(*)::INTEGER FROM tidemark.backfill_windows WHERE state = 'done') AS windows FROM tidemark.backfills`,
  )
  if (code !== 0 || found === undefined) throw new TypeError(`the backfill ended with ${code}`)
  return { ...found, requests }
}

process.stdout.write(`${machineText()}\n${rows} events, ${PAGE_MS} ms a page of 50\n`)
for (let round = 1; round <= rounds; round += 1) {
  const one = await fillWith(1)
  const two = await fillWith(2)
  const text = ({ seconds, windows, requests }: Filled) =>
    `${seconds.toFixed(1)} s (${windows} windows, ${requests} requests)`
  process.stdout.write(
    `one puller ${text(one)}, two ${text(two)}: ${(one.seconds / two.seconds).toFixed(2)} × faster\n`,
  )
}
