/**
 * Measures how long a worker's event loop is blocked by a million rows: `node tools/measure/eventLoop.ts [ROWS]`. A
 * lock is lost after 15 s without renewal, so the longest delay must be far shorter.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { machineText } from '../../bench/machine.ts'
import { aWorld } from '../../test/cli/support.ts'
import { held, linesOf, reportsOnly, stop, until } from '../../test/jobs/support.ts'
import { startRedis } from '../../test/support/redisServer.ts'

const [rows = 1_000_000] = process.argv.slice(2).map(Number)
const watch = pathToFileURL(join(import.meta.dirname, 'loopWatch.ts')).href

await using redis = await startRedis()
await using world = await aWorld({
  sandbox: { rows, collections: false, pageSizeMax: 10_000 },
  settings: {
    currencies: [],
    queue: redis.url,
    defaults: { every: '6h', reconcile_every: 'never', page_size: 10_000 },
    reports: reportsOnly({ events: { expand: [] } }),
  },
})
const file = join(world.folder, 'loop.json')
const started = performance.now()
const env = { LOOP_WATCH: file, NODE_OPTIONS: `--import ${watch}` }
const worker = world.start(['worker'], { isTied: true, env })
await until(() => linesOf(worker).some(({ state, report }) => report === 'events' && state !== undefined))
const seconds = (performance.now() - started) / 1_000
await until(() => linesOf(worker).some(({ msg }) => msg === 'published'))
await stop(worker)
const [counted] = await held<{ n: number }>(world, 'SELECT count(*)::INTEGER AS n FROM main.events')
process.stdout.write(`${machineText()}\n${counted?.n} rows in ${seconds.toFixed(0)} s; delay of the loop in ms:\n`)
process.stdout.write(`${readFileSync(file, 'utf8')}\n`)
