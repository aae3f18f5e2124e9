/** Parses the setting `queue`. Logs contain only `shown`, which is the address without its password. */
import { attempt, SyncError } from '../../src/errors.ts'

export interface ServerAddress {
  readonly kind: 'redis' | 'postgres'
  readonly url: URL
  readonly shown: string
}

export type StoreAddress = { readonly kind: 'embedded'; readonly shown: string } | ServerAddress

const KINDS: Readonly<Record<string, ServerAddress['kind']>> = {
  'redis:': 'redis',
  'rediss:': 'redis',
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
}

/** Returns the kind and the address of the store. Throws CONFIG_INVALID. */
export function addressOf(setting: string): StoreAddress {
  if (setting === 'embedded') return { kind: 'embedded', shown: 'embedded' }
  const url = URL.parse(setting)
  const kind = url === null ? undefined : KINDS[url.protocol]
  if (url === null || kind === undefined) {
    // Even a malformed address can contain a password, so the message does not quote it.
    const cure = 'Set it to embedded, redis://host:6379, rediss://host:6380 or postgres://user@host/database.'
    throw new SyncError('CONFIG_INVALID', 'queue names no store that Tidemark knows', { cure })
  }
  return { kind, url, shown: `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}` }
}

export function withoutSecrets(text: string, { url }: ServerAddress): string {
  const passwords = [
    url.password,
    attempt(() => decodeURIComponent(url.password), ''),
    url.searchParams.get('password') ?? '',
  ]
  const known = passwords.filter((password) => password !== '').toSorted((a, b) => b.length - a.length)
  return known.reduce((masked, password) => masked.replaceAll(password, '[secret]'), text)
}
