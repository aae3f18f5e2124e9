/**
 * The lines of `tidemark check` that look beyond the service's answers: network, queue, disk, clock; both sides of
 * each.
 */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, symlink } from 'node:fs/promises'
import { createServer as createPlain, type AddressInfo } from 'node:net'
import path from 'node:path'
import { createServer, setDefaultCACertificates, getCACertificates } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { diskVerdict, checkPublished } from '../../src/cli/check/files.ts'
import { checkNetwork } from '../../src/cli/check/network.ts'
import { checkQueue } from '../../src/cli/actions/check.ts'
import { skewFinding } from '../../src/cli/check/service.ts'
import { systemClock } from '../../src/clock.ts'
import type { Config } from '../../src/config/config.ts'
import { minusMs } from '../../src/instant.ts'
import { openStore } from '../../jobs/stores/openStore.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'
import { ROOT } from '../rules/source.ts'
import { startRedis } from '../support/redisServer.ts'
import { GIVE_UP, handOver, saidUnprivileged } from '../support/unprivileged.ts'
import { aPlace } from './support.ts'

const pem = (name: string) =>
  readFileSync(path.join(import.meta.dirname, '../fixtures', `localhost.${name}.pem`), 'utf8')
const serviceAt = (url: string) => ({ service: { baseUrl: new URL(url) } }) as Config
/** The certificate's hundred years but a week. */
const NEARLY_ITS_LIFE_MS = new X509Certificate(pem('cert')).validToDate.getTime() - Date.now() - 7 * 86_400_000

async function aTlsServer(host = '127.0.0.1') {
  const server = createServer({ key: pem('key'), cert: pem('cert') }, (socket) => socket.end()).listen(0, host)
  server.on('tlsClientError', () => undefined)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `https://localhost:${port}`, [Symbol.dispose]: () => void server.close() }
}

describe('the line of the network', () => {
  it('tells the address, the time and the life of a certificate that is trusted', async () => {
    using server = await aTlsServer()
    const before = getCACertificates('default')
    setDefaultCACertificates([...before, pem('cert')])
    try {
      const found = await checkNetwork(serviceAt(server.url), systemClock)
      expect(found).toMatchObject({ verdict: 'ok', found: expect.stringMatching(/TLSv1\.3, certificate for \d+ d/) })
    } finally {
      setDefaultCACertificates(before)
    }
  })

  it('warns of a certificate that ends soon', async () => {
    using server = await aTlsServer()
    const before = getCACertificates('default')
    setDefaultCACertificates([...before, pem('cert')])
    try {
      const late = { ...systemClock, now: () => minusMs(systemClock.now(), -NEARLY_ITS_LIFE_MS) }
      expect(await checkNetwork(serviceAt(server.url), late)).toMatchObject({
        verdict: 'warn',
        cure: expect.stringContaining('renewed'),
      })
    } finally {
      setDefaultCACertificates(before)
    }
  })

  it('fails for a certificate that nobody trusts, and says how to', async () => {
    using server = await aTlsServer()
    expect(await checkNetwork(serviceAt(server.url), systemClock)).toMatchObject({
      verdict: 'fail',
      code: 'SERVICE_UNREACHABLE',
      cure: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    })
  })

  it('fails for a certificate of another name, and advises no authority', async () => {
    using server = await aTlsServer('0.0.0.0')
    const before = getCACertificates('default')
    setDefaultCACertificates([...before, pem('cert')])
    try {
      // The one address that leads here and that the certificate doesn't name.
      const found = await checkNetwork(serviceAt(server.url.replace('localhost', '0.0.0.0')), systemClock)
      expect(found).toMatchObject({ verdict: 'fail', cure: expect.stringContaining('for another name') as string })
    } finally {
      setDefaultCACertificates(before)
    }
  })

  it('fails for https where http is spoken, and advises no authority', async () => {
    const server = createPlain((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const found = await checkNetwork(serviceAt(url), systemClock)
    server.close()
    expect(found).toMatchObject({ verdict: 'fail', cure: expect.stringContaining('speaks no TLS') as string })
  })

  it('fails for a name that does not exist', async () => {
    const found = await checkNetwork(serviceAt('https://no-such-host.invalid'), systemClock)
    expect(found).toMatchObject({ verdict: 'fail', cure: expect.stringMatching(/DNS/) })
  })

  it('fails where nothing listens, and passes where something does', async () => {
    const server = createPlain((socket) => socket.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await checkNetwork(serviceAt(url), systemClock)).toMatchObject({ verdict: 'ok' })
    server.close()
    await once(server, 'close')
    expect(await checkNetwork(serviceAt(url), systemClock)).toMatchObject({
      verdict: 'fail',
      found: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

describe('the line of the queue', () => {
  it('passes for a Redis that keeps its data and evicts nothing; warns and fails where it does not', async () => {
    await using redis = await startRedis()
    const config = { queue: redis.url, warehouse: '/nowhere/w.duckdb' } as Config
    const found = await checkQueue(config, systemClock)
    expect(found[0]).toMatchObject({ check: 'queue', verdict: 'ok', found: expect.stringMatching(/(Redis|Valkey) \d/) })
    await redis.stop('SIGKILL')
    expect(await checkQueue(config, systemClock)).toMatchObject([{ verdict: 'fail', code: 'QUEUE_UNREACHABLE' }])
  })

  it('fails for a Redis that may evict jobs', async () => {
    await using redis = await startRedis()
    const { Redis } = await import('ioredis')
    const client = new Redis(redis.url)
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
    client.disconnect()
    const config = { queue: redis.url, warehouse: '/nowhere/w.duckdb' } as Config
    expect(await checkQueue(config, systemClock)).toMatchObject([
      { verdict: 'fail', code: 'QUEUE_UNFIT', cure: expect.stringContaining('noeviction') },
    ])
  })

  it('makes no embedded store, opens one that is there, and leaves it to a worker that has it open', {
    tags: 'long',
  }, async () => {
    await using place = await aPlace()
    const warehouse = path.join(place.folder, 'w.duckdb')
    const config = { queue: 'embedded', warehouse } as Config
    expect(await checkQueue(config, systemClock)).toMatchObject([
      { verdict: 'ok', found: expect.stringContaining('first') },
    ])
    {
      await using _store = await openStore('embedded', { directory: `${warehouse}.queue`, clock: systemClock })
      const [held] = await checkQueue(config, systemClock)
      expect(held).toMatchObject({ verdict: 'ok', found: expect.stringContaining('a worker has it open') })
    }
    expect(await checkQueue(config, systemClock)).toMatchObject([{ verdict: 'ok' }])
  })
})

interface Rights {
  readonly folder: number
  readonly warehouse: number
  readonly published: number
}

/**
 * What the two lines say of a warehouse and its copy that have these rights, in a folder with those; `left`: a folder
 * beside them that this user can't write.
 */
async function saidOf(rights: Rights, left?: string) {
  await using place = await aPlace()
  const [warehouse, published] = ['warehouse', 'published'].map((name) => path.join(place.folder, `${name}.duckdb`))
  const opened = await Warehouse.open({ path: warehouse ?? '', memory: '256MB' })
  await opened.publish(published ?? '')
  await opened.close()
  await handOver(warehouse ?? '', rights.warehouse)
  await handOver(published ?? '', rights.published)
  if (left !== undefined) {
    await mkdir(path.join(place.folder, left, 'inner'), { recursive: true })
    await chmod(path.join(place.folder, left), 0o555)
  }
  await handOver(place.folder, rights.folder)
  const said = await saidUnprivileged(`
    import { checkPublished, checkWarehouse } from ${JSON.stringify(path.join(ROOT, 'src/cli/check/files.ts'))}
    const config = ${JSON.stringify({ warehouse, staging: `${warehouse}.staging`, published, limits: { queryMemory: '256MB' } })}
    ${GIVE_UP}
    console.log(JSON.stringify([await checkWarehouse(config), await checkPublished(config)]))`)
  await handOver(place.folder, 0o700)
  if (left !== undefined) await chmod(path.join(place.folder, left), 0o700)
  return { folder: place.folder, found: JSON.parse(said) as { verdict: string; found: string; cure?: string }[] }
}

describe('the lines of the warehouse and the published copy', () => {
  it('pass where both can be written, and a copy that is only ever replaced may be read-only', {
    tags: 'long',
  }, async () => {
    const { found } = await saidOf({ folder: 0o700, warehouse: 0o600, published: 0o400 })
    expect(found).toMatchObject([{ verdict: 'ok' }, { verdict: 'ok' }])
  })

  it('fail where the file can be read and not written, and name it', { tags: 'long' }, async () => {
    const { folder, found } = await saidOf({ folder: 0o700, warehouse: 0o400, published: 0o600 })
    expect(found).toMatchObject([{ verdict: 'fail', code: 'WAREHOUSE_MISSING' }, { verdict: 'ok' }])
    expect(found[0]?.found).toContain(`${folder}/warehouse.duckdb may not be written by this user (EACCES)`)
    expect(found[0]?.cure).toMatch(/Run Tidemark as the user/)
  })

  it.each(['warehouse.duckdb.staging', 'warehouse.duckdb.spill-1'])(
    'fail where %s was left by another user, since no sync can clear it away',
    { tags: 'long' },
    async (left) => {
      const { folder, found } = await saidOf({ folder: 0o700, warehouse: 0o600, published: 0o600 }, left)
      expect(found).toMatchObject([{ verdict: 'fail', code: 'WAREHOUSE_MISSING' }, { verdict: 'ok' }])
      expect(found[0]?.found).toContain(`${folder}/${left} may not be written by this user (EACCES)`)
    },
  )

  it('warn where the lines of runs cannot be kept, since another user left their folder', {
    tags: 'long',
  }, async () => {
    const left = 'warehouse.duckdb.logs'
    const { folder, found } = await saidOf({ folder: 0o700, warehouse: 0o600, published: 0o600 }, left)
    expect(found).toMatchObject([{ verdict: 'warn', cure: expect.stringContaining(left) as string }, { verdict: 'ok' }])
    expect(found[0]?.found).toContain(`${folder}/${left} may not be written by this user (EACCES): no line of a run`)
  })

  it('fail where nothing can be made beside the files, and name the folder', { tags: 'long' }, async () => {
    const { folder, found } = await saidOf({ folder: 0o500, warehouse: 0o600, published: 0o600 })
    const inFolder = { verdict: 'fail', found: expect.stringContaining(`${folder} may not be written by this user`) }
    expect(found).toMatchObject([inFolder, inFolder])
  })
})

describe('the lines of files that are not there yet', () => {
  it('fail where the folder cannot be entered, and do not say that the first sync makes them', {
    tags: 'long',
  }, async () => {
    const { folder, found } = await saidOf({ folder: 0o000, warehouse: 0o600, published: 0o600 })
    const reached = (name: string) => ({
      verdict: 'fail',
      found: expect.stringContaining(`${folder}/${name}.duckdb cannot be reached: EACCES`) as string,
    })
    expect(found).toMatchObject([reached('warehouse'), reached('published')])
  })

  it('fail where their folder is a link that leads nowhere, as to a disk that is not mounted', async () => {
    await using place = await aPlace()
    const data = path.join(place.folder, 'data')
    await symlink(path.join(place.folder, 'disk', 'data'), data)
    const published = path.join(data, 'published.duckdb')
    expect(await checkPublished({ published } as Config)).toMatchObject({
      verdict: 'fail',
      found: `${published} is not there, and ${data} is no folder`,
    })
  })
})

const MB = 1_024 * 1_024

describe('the line of the disk', () => {
  it.each([
    [{ free: 100 * MB, size: MB, bytesPerDay: undefined }, 'ok', 'growth not known yet'],
    [{ free: 100 * MB, size: MB, bytesPerDay: 0.5 * MB }, 'ok', 'grows by about 0.5 MB a day'],
    [{ free: 100 * MB, size: MB, bytesPerDay: 5 * MB }, 'warn', 'full in about 7 days'],
    [{ free: 100 * MB, size: MB, bytesPerDay: 40 * MB }, 'warn', /full in about 1 day$/],
    [{ free: MB, size: MB, bytesPerDay: undefined }, 'warn', 'room for a second copy'],
  ])('says of %j: %s', (room, verdict, found) => {
    expect(diskVerdict('disk', room)).toMatchObject({ verdict, found: expect.stringMatching(found) })
  })
})

describe('the line of the clock', () => {
  it.each([
    [-3_600_000, 'this machine is about 1 h behind the service'],
    [7_200_000, 'this machine is about 2 h ahead of the service'],
    [-10_000, 'this machine is about 10 s behind the service'],
    [-300_000, 'this machine is about 5 min behind the service'],
  ])('says of %i ms the same whatever the part of a second', (apartMs, told) => {
    // The header's second began up to a second before; the answer took a little on its way.
    for (let partMs = 0; partMs <= 1_100; partMs += 50) expect(skewFinding(apartMs + partMs).found).toBe(told)
  })

  it('takes seconds that nobody can know for none', () => {
    for (let partMs = -1_000; partMs <= 1_100; partMs += 100) expect(skewFinding(partMs).verdict).toBe('ok')
  })
})
