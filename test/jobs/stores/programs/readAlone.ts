/**
 * Clients in a process of their own that read one page each with the token of the store, for tests that start many of
 * them, or kill one while it asks for a token. Says `asking`, then one line a client: `read`, or what went wrong.
 */
import { openStore } from '../../../../jobs/stores/openStore.ts'
import { openClient } from '../../../../src/client/reporting.ts'
import { systemClock } from '../../../../src/clock.ts'
import { asSyncError } from '../../../../src/errors.ts'
import { Secret } from '../../../../src/secret.ts'

const {
  STORE = '',
  STORE_DIRECTORY: directory = '',
  STORE_PREFIX: prefix = '',
  SERVICE = '',
  CLIENTS = '1',
  LEASE_MS,
} = process.env
const say = (line: string) => process.stdout.write(`${line}\n`)

const lease = LEASE_MS === undefined ? {} : { leaseMs: Number(LEASE_MS) }
const store = await openStore(STORE, { directory, clock: systemClock, prefix, ...lease })
const access = { identity: `${SERVICE} demo`, secret: new Secret('demo-secret') }
say('asking')

const readOnce = async () => {
  const settings = { baseUrl: new URL(SERVICE), clientId: 'demo', clientSecret: access.secret, concurrency: 2 }
  const parts = { clock: systemClock, tokenStore: store.tokens(access), sharedPauses: store.pauses(access) }
  await using client = openClient(settings, parts)
  const body = { modifiedSince: '2000-01-01T00:00:00Z', modifiedUntil: '2100-01-01T00:00:00Z', pageSize: 1 }
  await client.read({ report: 'events', path: '/v1/EventReport/GetEventsReport', body, parse: (bytes) => bytes.length })
}

const clients = Array.from({ length: Number(CLIENTS) }, () =>
  readOnce().then(
    () => say('read'),
    (error: unknown) => say(JSON.stringify(asSyncError(error))),
  ),
)
await Promise.all(clients)
await store.close()
