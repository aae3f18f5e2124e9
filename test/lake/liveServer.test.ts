/** `serve: quack://…`: other processes read the worker's published copy while it goes on, and can do nothing else. */
import { spawn } from 'node:child_process'
import { readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { reportOf } from '../../schema/index.ts'
import type { Log } from '../../src/log.ts'
import { serveForEver } from '../../src/worker/serving.ts'
import { aWorkshop, stop, until } from '../jobs/support.ts'
import { extensionsFolder } from '../support/extensions.ts'
import { freePort } from '../support/programsOnPath.ts'
import { aWarehouse, loadRows } from '../support/warehouse.ts'

const READER = fileURLToPath(new URL('./reader.js', import.meta.url))
const TOKEN = 'reader-token-0123456789'

interface Reader extends AsyncDisposable {
  /** Rows, or the error's text. */
  ask(sql: string): Promise<{ rows?: Record<string, unknown>[]; error?: string }>
}

function aReader(): Reader {
  const child = spawn(process.execPath, [READER], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    ask: async (sql) => {
      child.stdin.write(`${sql.replaceAll('\n', ' ')}\n`)
      const { value } = await lines.next()
      return JSON.parse(String(value)) as { rows?: Record<string, unknown>[]; error?: string }
    },
    [Symbol.asyncDispose]: async () => {
      child.stdin.end()
      await new Promise((resolve) => void child.once('exit', resolve))
    },
  }
}

/** `link`: what the name of the published copy leads to. */
async function aServedWarehouse({ link, timeMs = 600_000 }: { readonly link?: string; readonly timeMs?: number } = {}) {
  const opened = await aWarehouse()
  const published = join(opened.folder, 'published.duckdb')
  if (link !== undefined) await symlink(link, published)
  const port = await freePort()
  const place = { host: '127.0.0.1', port, isLoopback: true, token: TOKEN, extensions: extensionsFolder() }
  const logged: string[] = []
  const log = {
    error: ({ err }: { err: Error }, said: string) => void logged.push(`${said}: ${err.message}`),
  } as unknown as Log
  const server = await serveForEver({ ...place, published, memory: '256MB', disk: '1GB' }, { timeMs, log })
  const load = async (from: number) => {
    const rows = Array.from({ length: 20 }, (_, index) => ({ eventId: from + index, name: `E${from + index}` }))
    await loadRows(opened, reportOf('events'), rows)
    await opened.warehouse.publish(published)
    await server.onPublished()
  }
  return {
    load,
    logged,
    folder: opened.folder,
    address: `quack:127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await opened[Symbol.asyncDispose]()
    },
  }
}

/** Writes, ends, opens and looks about; each in the server's own SQL. */
const FORBIDDEN = [
  `CREATE TABLE mine (i INTEGER)`,
  `CREATE TEMP TABLE mine (i INTEGER)`,
  `CREATE OR REPLACE VIEW events AS SELECT 1`,
  `CREATE OR REPLACE MACRO may_read(a, b) AS true`,
  `INSERT INTO tidemark.marks SELECT * FROM tidemark.marks`,
  `INSERT INTO copy_1.tidemark.marks SELECT * FROM copy_1.tidemark.marks`,
  `DELETE FROM copy_1.main.events`,
  `SELECT 1; DROP VIEW events`,
  `SET memory_limit = '64GB'`,
  `ATTACH ':memory:' AS mine`,
  `DETACH copy_1`,
  `COPY events TO '/tmp/stolen.csv'`,
  `FROM read_text('/etc/hostname')`,
  `FROM '/etc/hostname'`,
  `CALL quack_stop('quack:127.0.0.1')`,
  `FROM quack_stop('quack:127.0.0.1')`,
  `FROM "QUACK_STOP"('quack:127.0.0.1')`,
  `FROM query('FROM quack_' || 'server_list()')`,
  `FROM (SELECT * FROM quack_server_list())`,
  `LOAD 'quack'`,
  // The next ones were allowed while functions were denied by name.
  `CALL enable_logging(storage = 'file', storage_path = '/tmp/tidemark-stolen')`,
  `FROM enable_logging(storage := 'file', storage_path := '/tmp/tidemark-stolen')`,
  `FROM duckdb_logs()`,
  `FROM duckdb_logs`,
  `SUMMARIZE duckdb_logs`,
  `FROM duckdb_logs_parsed('QueryLog')`,
  `FROM histogram('duckdb_logs', type)`,
  `FROM quack_active_connections()`,
  `FROM pg_catalog.pg_prepared_statements`,
  `FROM checkpoint()`,
  `FROM force_checkpoint('copy_1')`,
  `FROM duckdb_settings()`,
  `FROM glob('/etc/*')`,
  `SELECT write_log('mine')`,
  `EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/tidemark-stolen'`,
  `SELECT length(repeat('x', 4000000000))`,
]

/** Through the attached database, as most readers would. */
const FORBIDDEN_ATTACHED = [
  'INSERT INTO tide.events SELECT * FROM tide.events',
  'UPDATE tide.events SET name = NULL',
  'DELETE FROM tide.events',
  'CREATE TABLE tide.mine AS SELECT 1 AS i',
  'DROP VIEW tide.events',
]

/** Run by the server as one statement: an attached database reads each table by itself. */
const COUNTS = `FROM tide.query('SELECT (SELECT count(*) FROM events)::INTEGER AS n, (SELECT count(*) FROM tidemark.loads)::INTEGER AS loads')`

describe('a served copy', () => {
  it('is read by another process while loads go on, in the session that it began with, one cut at a time', async () => {
    await using served = await aServedWarehouse()
    await served.load(1)
    await using reader = aReader()
    expect(await reader.ask(`ATTACH '${served.address}' AS tide (TOKEN '${TOKEN}')`)).toEqual({ rows: [] })
    for (const [index, from] of [101, 201, 301, 401].entries()) {
      // The next copy comes while this is asked: the answer is the one cut or the other, nothing between.
      const [{ rows, error }] = await Promise.all([reader.ask(COUNTS), served.load(from)])
      expect(error).toBeUndefined()
      const loads = Number(rows?.[0]?.['loads'])
      expect(rows).toEqual([{ n: 20 * loads, loads }])
      expect([index + 1, index + 2]).toContain(loads)
    }
    expect((await reader.ask(COUNTS)).rows).toEqual([{ n: 100, loads: 5 }])
  })

  it('is read where its name is a link that leads elsewhere, each new one too', async () => {
    await using served = await aServedWarehouse({ link: join('disk', 'copy.duckdb') })
    await using reader = aReader()
    await served.load(1)
    expect(await reader.ask(`ATTACH '${served.address}' AS tide (TOKEN '${TOKEN}')`)).toEqual({ rows: [] })
    expect((await reader.ask(COUNTS)).rows).toEqual([{ n: 20, loads: 1 }])
    await served.load(101)
    expect((await reader.ask(COUNTS)).rows).toEqual([{ n: 40, loads: 2 }])
  })

  it('refuses readers with another token, and statements that do more than read', async () => {
    await using served = await aServedWarehouse()
    await served.load(1)
    const { address } = served
    await using reader = aReader()
    const stranger = await reader.ask(`ATTACH '${address}' AS other (TOKEN 'not-the-token-01234')`)
    expect(stranger.error).toContain('Authentication failed')
    await reader.ask(`ATTACH '${address}' AS tide (TOKEN '${TOKEN}')`)
    const run = (sql: string) =>
      reader.ask(`FROM quack_query('${address}', '${sql.replaceAll("'", "''")}', token := '${TOKEN}')`)
    for (const sql of FORBIDDEN) expect(await run(sql), sql).toMatchObject({ error: expect.any(String) })
    for (const sql of FORBIDDEN_ATTACHED)
      expect(await reader.ask(sql), sql).toMatchObject({ error: expect.any(String) })
    expect((await run('SELECT count(*)::INTEGER AS n FROM events')).rows).toEqual([{ n: 20 }])
    expect((await reader.ask('SELECT count(*)::INTEGER AS n FROM tide.current.events')).rows).toEqual([{ n: 20 }])
  })
})

describe('a live server', () => {
  it('ends a statement that takes too long, says so, and serves again', async () => {
    await using served = await aServedWarehouse({ timeMs: 2_000 })
    await served.load(1)
    await using reader = aReader()
    const attach = `ATTACH OR REPLACE '${served.address}' AS tide (TOKEN '${TOKEN}')`
    await reader.ask(attach)
    const endless =
      "FROM tide.query('SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE a.range * b.range = 7')"
    expect(await reader.ask(endless)).toMatchObject({ error: expect.any(String) })
    await until(async () => (await reader.ask(attach)).error === undefined)
    expect((await reader.ask(COUNTS)).rows).toEqual([{ n: 20, loads: 1 }])
    expect(served.logged.join()).toContain("a reader's statement took longer than 2 s")
    expect((await readdir(served.folder)).filter((name) => name.includes('.reader-'))).toHaveLength(1)
  })
})

describe('a worker with serve', () => {
  it('serves what it published, with a token and a memory of its own; the token it says once, on standard error', async () => {
    const port = await freePort()
    const address = `quack:127.0.0.1:${port}`
    const limits = { query_memory: '192MB' }
    const settings = { serve: address.replace(':', '://'), extensions: extensionsFolder(), limits }
    await using shop = await aWorkshop({ store: 'embedded', settings })
    const worker = shop.worker()
    await until(() => worker.said().includes('is served') && worker.said().includes('"published"'))
    const [, token = ''] = /token for readers at \S+: ([0-9a-f]{48})\n/.exec(worker.said()) ?? []
    await using reader = aReader()
    expect(await reader.ask(`ATTACH '${address}' AS tide (TOKEN '${token}')`)).toEqual({ rows: [] })
    await until(
      async () => (await reader.ask('SELECT count(*)::INTEGER AS n FROM tide.events')).rows?.[0]?.['n'] === 40,
    )
    const asked = `SELECT current_setting(''memory_limit'') AS memory`
    const memory = await reader.ask(`FROM quack_query('${address}', '${asked}', token := '${token}')`)
    expect(memory).toEqual({ rows: [{ memory: '183.1 MiB' }] })
    const { code, stdout, stderr } = await stop(worker)
    expect(code).toBe(0)
    expect(stdout).not.toContain(token)
    expect(stderr.split(token)).toHaveLength(2)
  })
})
