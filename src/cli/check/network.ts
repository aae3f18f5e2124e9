/** Checks the connection before any request: the service's host name, its port, and its certificate. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect as connectPlainly, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import { type Clock, within } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { SyncError } from '../../errors.ts'
import { DAY_MS, fromMillis, millisBetween } from '../../instant.ts'
import { duration } from '../layout.ts'
import { fail, type Finding, ok, warn } from './finding.ts'

const CONNECT_MS_MAX = 10_000
const CERTIFICATE_DAYS_MIN = 14

/** Connects to the service's port. Trusts the same certificate authorities as the client's requests. */
export async function checkNetwork({ service }: Pick<Config, 'service'>, clock: Clock): Promise<Finding> {
  const check = 'network'
  const { hostname, host, protocol, port } = service.baseUrl
  const name = hostname.replaceAll(/^\[|\]$/g, '')
  const isSecure = protocol === 'https:'
  const startedMs = clock.monotonicMs()
  try {
    const { address } = await lookup(name)
    const resolvedMs = clock.monotonicMs() - startedMs
    const target = { host: name, port: Number(port) || (isSecure ? 443 : 80) }
    const secure = isSecure ? connectSecurely({ ...target, ...(isIP(name) === 0 && { servername: name }) }) : undefined
    const socket = secure ?? connectPlainly(target)
    using closing = new DisposableStack()
    closing.defer(() => socket.destroy())
    await awaitEvent(socket, isSecure ? 'secureConnect' : 'connect', clock)
    const ms = clock.monotonicMs() - startedMs
    const found = `${host} is ${address} (${Math.round(resolvedMs)} ms), connects in ${Math.round(ms)} ms`
    if (secure === undefined) return ok(check, found)
    const expiresAt = fromMillis(Date.parse(secure.getPeerCertificate().valid_to))
    const leftMs = millisBetween(clock.now(), expiresAt)
    const certificate = `${found}, ${secure.getProtocol()}, certificate for ${duration(leftMs)} more`
    return leftMs > CERTIFICATE_DAYS_MIN * DAY_MS
      ? ok(check, certificate)
      : warn(check, certificate, 'Have the certificate renewed; once it has expired nothing is pulled any more.')
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'UNKNOWN'
    const [, cure = 'Check service.base_url and the network.'] = CURES.find(([codes]) => codes.test(code)) ?? []
    const data = { host }
    return fail(check, new SyncError('SERVICE_UNREACHABLE', `${host} can not be reached: ${code}`, { cure, data }))
  }
}

async function awaitEvent(socket: Socket, event: string, clock: Clock): Promise<void> {
  // Without a listener, an `error` event would end the process.
  socket.on('error', () => undefined)
  const opening = await within(CONNECT_MS_MAX, clock, () => once(socket, event))
  if (opening === undefined) throw Object.assign(new TypeError('late'), { code: 'ETIMEDOUT' })
}

/** Cures by error code. The first pattern that matches Node's error code applies. */
const CURES: readonly (readonly [codes: RegExp, cure: string])[] = [
  [/^ENOTFOUND$/, 'Check the host name in service.base_url, and that this machine can resolve names (DNS).'],
  [/^EAI_AGAIN$/, 'The name server does not answer: check this machine’s DNS.'],
  [/^ECONNREFUSED$/, 'Nothing listens there: check host and port in service.base_url, and whether the service is up.'],
  [/^ETIMEDOUT$/, 'No answer: look for a firewall between this machine and the service.'],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'The certificate is for another name: set service.base_url to the name that it is for.',
  ],
  [
    /^CERT_HAS_EXPIRED$/,
    "The certificate has expired: have it renewed. If it has not, set this machine's clock right.",
  ],
  [
    /^ERR_SSL|^EPROTO$/,
    'What answers there speaks no TLS: check the port in service.base_url, and the proxy in front of the service.',
  ],
  [
    /CERT|TLS|SELF_SIGNED|UNABLE_TO_VERIFY/,
    'The certificate is not trusted here: NODE_EXTRA_CA_CERTS=FILE adds an authority.',
  ],
]
