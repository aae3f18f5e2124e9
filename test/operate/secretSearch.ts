/**
 * Runs everything at trace with marked secrets, then searches all output, every file, every key and value of the
 * queue's store, every table, span and metric, and each answer of the console for them, in all forms that they may take.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { Database } from '../../src/warehouse/database/duckdb.ts'
import { aPlace, SECRET_TEXT } from '../cli/support.ts'
import { aWorkshop, hasSaid, linesOf, type Store, stop, until, type Workshop } from '../jobs/support.ts'
import { consoleText } from './consoleText.ts'
import { aCollector } from './collector.ts'
import { aReceiver, SIGNING_SECRET } from './receiver.ts'

const MARKED = {
  TIDEMARK_HASH_KEY: 'marked-hash-key-0123456789',
  TIDEMARK_CONSOLE_TOKEN: 'marked-console-token-0123',
  TIDEMARK_NOTIFY_SECRET: SIGNING_SECRET,
  TIDEMARK_NOTIFY_PIPELINE_SECRET: `whsec_${Buffer.from('marked-pipeline-secret-of-tests').toString('base64')}`,
}

/** As they are, and as they would stand in JSON, forms and base64. */
const formsOf = (text: string): readonly string[] => [
  text,
  JSON.stringify(text).slice(1, -1),
  encodeURIComponent(text),
  Buffer.from(text).toString('base64').replaceAll('=', ''),
]

const SECRETS = [SECRET_TEXT, ...Object.values(MARKED)].flatMap(formsOf)
/** The sandbox's tokens are JWTs, as the service's are. */
const TOKEN = /eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/

interface Heap {
  readonly place: string
  readonly text: string
}

const leaksIn = ({ place, text }: Heap): string[] => [
  ...SECRETS.filter((secret) => text.includes(secret)).map((secret) => `${place}: ${secret.slice(0, 18)}…`),
  ...(TOKEN.test(text) ? [`${place}: a token`] : []),
]

/** Every file, as bytes; the settings hold none, and the secrets come from the environment. */
async function filesIn(folder: string): Promise<Heap[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name))
  return Promise.all(files.map(async (file) => ({ place: file, text: await readFile(file, 'latin1') })))
}

/** Every table as text, since a DuckDB file packs what it holds. */
async function tablesIn(file: string): Promise<Heap[]> {
  await using database = await Database.open(file, { readOnly: true, memory: '256MB' })
  const tables = await database.rows<{ place: string }>(
    `SELECT '"' || schema_name || '"."' || table_name || '"' AS place FROM duckdb_tables() WHERE NOT internal`,
  )
  const heaps: Heap[] = []
  for (const { place } of tables) {
    const rows = await database.rows(`SELECT to_json(t)::VARCHAR AS row FROM ${place} t`)
    heaps.push({ place, text: JSON.stringify(rows) })
  }
  return heaps
}

/** Whatever its type, each key is dumped as Redis keeps it. */
async function keysIn({ redis }: Workshop): Promise<Heap[]> {
  if (redis === undefined) return []
  const client = new Redis(redis.url)
  try {
    const keys = await client.keys('*')
    const dumps = keys.map(async (key) => ({
      place: `redis ${key}`,
      text: (await client.dumpBuffer(key))?.toString('latin1') ?? '',
    }))
    return [...(await Promise.all(dumps)), { place: 'redis keys', text: keys.join('\n') }]
  } finally {
    client.disconnect()
  }
}

/** Fails where a secret is found after commands and a worker on this store were run. */
export async function searchSecrets(store: Store): Promise<void> {
  await using collector = await aCollector()
  await using receiver = await aReceiver()
  const env = { ...MARKED, TIDEMARK_LOG_LEVEL: 'trace', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  await using shop = await aWorkshop({
    store,
    sandbox: { faults: ['401-once@events', '5xx*1@events'] },
    settings: { notify: { webhook: receiver.url, data: { pipeline: { webhook: receiver.url } } } },
    env,
  })
  const outputs: Heap[] = []
  const run = async (...args: string[]) => {
    const { stdout, stderr } = await shop.run(...args)
    outputs.push({ place: args.join(' '), text: stdout + stderr })
  }
  await run('check')
  await run('sync', '--json')
  const worker = shop.worker()
  await until(() => hasSaid(worker, 'published') && linesOf(worker).some(({ level }) => level === 20))
  await run('backfill', 'events', '--from', '2024-01-01', '--json')
  await run('reconcile', 'events', '--json')
  await run('status', '--json')
  await run('logs', 'events', '--json')
  const heaps = await keysIn(shop)
  const { address: url } = linesOf(worker).find(({ msg }) => msg.includes('the console listens')) as unknown as {
    address: string
  }
  const responses = await consoleText({ url, token: MARKED.TIDEMARK_CONSOLE_TOKEN, report: 'events' })
  const lengthOf = (place: string) => responses.find((each) => each.place === place)?.text.length
  for (const place of ['GET /', 'GET /metrics', 'GET /api/overview', 'POST /api/session'])
    expect(lengthOf(place), place).toBeGreaterThan(100)
  // Short while no run is under way.
  expect(lengthOf('GET /api/live')).toBeGreaterThan(20)
  heaps.push(...responses)
  await stop(worker)
  // Refused credentials, as an echo of what was sent would show.
  const wrong = { REPORTING_CLIENT_SECRET: `${SECRET_TEXT}-wrong` }
  const refused = await shop.runWith(wrong, 'sync', 'events', '--json')
  outputs.push({ place: 'sync with another secret', text: refused.stdout + refused.stderr })
  await using elsewhere = await aPlace()
  const given = ['init', '--base-url', shop.sandbox.url, '--client-id', 'acme']
  const init = await elsewhere.runWith({ ...env, REPORTING_CLIENT_SECRET: SECRET_TEXT }, ...given)
  outputs.push({ place: 'init', text: init.stdout + init.stderr })
  outputs.push({ place: 'worker', text: worker.said() })
  expect(outputs.every(({ text }) => text.length > 40)).toBe(true)
  expect(worker.said()).toContain('"what":"request"')
  await mkdir(path.join(shop.folder, 'data'), { recursive: true })
  heaps.push(
    ...outputs,
    ...(await filesIn(shop.folder)),
    ...(await tablesIn(path.join(shop.folder, 'data/warehouse.duckdb'))),
    ...collector.received.map((text) => ({ place: 'span', text })),
    ...receiver.posted.map(({ body, headers }) => ({ place: 'notice', text: body + JSON.stringify(headers) })),
  )
  expect(collector.spans.length).toBeGreaterThan(10)
  expect(heaps.flatMap(leaksIn)).toEqual([])
}
