/** Checks the connection before any request: the service's host name, its port, and its certificate. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect as connectPlainly, isIP, type Socket } from 'node:net'
import { connect as connectSecurely, type TLSSocket } from 'node:tls'
import { type Clock, within } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { SyncError } from '../../errors.ts'
import { DAY_MS, fromMillis, millisBetween } from '../../instant.ts'
import { duration } from '../layout.ts'
import { fail, type Finding, ok, warn } from './finding.ts'

const CONNECT_MS_MAX = 10_000
const CERTIFICATE_DAYS_MIN = 14

export async function checkNetwork({ service }: Pick<Config, 'service'>, clock: Clock): Promise<Finding> {
  const check = 'network'
  const { hostname, host } = service.baseUrl
  const name = hostname.replaceAll(/^\[|\]$/g, '')
  const startedMs = clock.monotonicMs()
  try {
    const address = isIP(name) === 0 ? (await lookup(name)).address : name
    const resolvedMs = clock.monotonicMs() - startedMs
    using connection = await openConnection(service.baseUrl, name, clock)
    const ms = clock.monotonicMs() - startedMs
    const found = `${host} is ${address} (${Math.round(resolvedMs)} ms), connects in ${Math.round(ms)} ms`
    const { expiresAtMs, protocol } = connection
    if (expiresAtMs === undefined) return ok(check, found)
    const leftMs = millisBetween(clock.now(), fromMillis(expiresAtMs))
    const certificate = `${found}, ${protocol}, certificate for ${duration(leftMs)} more`
    return leftMs > CERTIFICATE_DAYS_MIN * DAY_MS
      ? ok(check, certificate)
      : warn(check, certificate, 'Have the certificate renewed; once it has expired nothing is pulled any more.')
  } catch (thrown) {
    return fail(check, unreachable(host, thrown))
  }
}

interface Connection extends Disposable {
  readonly expiresAtMs: number | undefined
  readonly protocol: string
}

/** Trusts the certificate authorities that requests to the service trust. Disposing closes the connection. */
async function openConnection({ protocol, port }: URL, host: string, clock: Clock): Promise<Connection> {
  const isSecure = protocol === 'https:'
  const number = port === '' ? (isSecure ? 443 : 80) : Number(port)
  const servername = isIP(host) === 0 ? { servername: host } : {}
  const socket: Socket | TLSSocket = isSecure
    ? connectSecurely({ host, port: number, ...servername })
    : connectPlainly({ host, port: number })
  try {
    await awaitEvent(socket, isSecure ? 'secureConnect' : 'connect', clock)
    const secure = 'getPeerCertificate' in socket ? socket : undefined
    const validTo = secure === undefined ? undefined : Date.parse(secure.getPeerCertificate().valid_to)
    return {
      expiresAtMs: validTo,
      protocol: secure?.getProtocol() ?? '',
      [Symbol.dispose]: () => void socket.destroy(),
    }
  } catch (error) {
    socket.destroy()
    throw error
  }
}

async function awaitEvent(socket: Socket, event: string, clock: Clock): Promise<void> {
  // This listener is never removed, because an `error` event without a listener would end the process.
  socket.on('error', () => undefined)
  const opening = await within(CONNECT_MS_MAX, clock, () => once(socket, event))
  if (opening === undefined) throw Object.assign(new TypeError('late'), { code: 'ETIMEDOUT' })
}

const CERTIFICATE = /CERT|TLS|SELF_SIGNED|UNABLE_TO_VERIFY/

const CURES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'Check the host name in service.base_url, and that this machine can resolve names (DNS).',
  EAI_AGAIN: 'The name server does not answer: check this machine’s DNS.',
  ECONNREFUSED: 'Nothing listens there: check host and port in service.base_url, and whether the service is up.',
  ETIMEDOUT: 'No answer: look for a firewall between this machine and the service.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another name: set service.base_url to the name that it is for.',
  CERT_HAS_EXPIRED: "The certificate has expired: have it renewed. If it has not, set this machine's clock right.",
}

const NO_TLS =
  'What answers there speaks no TLS: check the port in service.base_url, and the proxy in front of the service.'
const UNTRUSTED = 'The certificate is not trusted here: NODE_EXTRA_CA_CERTS=FILE adds an authority.'

function unreachable(host: string, thrown: unknown): SyncError {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'UNKNOWN'
  return new SyncError('SERVICE_UNREACHABLE', `${host} can not be reached: ${code}`, {
    cure: cureOf(code),
    data: { host },
  })
}

function cureOf(code: string): string {
  const known = CURES[code]
  if (known !== undefined) return known
  if (/^ERR_SSL|^EPROTO$/.test(code)) return NO_TLS
  return CERTIFICATE.test(code) ? UNTRUSTED : 'Check service.base_url and the network.'
}
