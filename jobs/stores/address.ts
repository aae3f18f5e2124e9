/**
 * The `queue` setting taken apart: which kind of store it names, and how it may be shown. An address holds a password,
 * so errors and logs get `shown`, and every message of a driver goes through `withoutSecrets` first.
 */
import { SyncError } from '../../src/errors.ts'

export interface ServerAddress {
  readonly kind: 'redis' | 'postgres'
  readonly url: URL
  /** Kind, host, port and database: nothing of it is secret. */
  readonly shown: string
}

export type StoreAddress = { readonly kind: 'embedded'; readonly shown: string } | ServerAddress

const KINDS: Readonly<Record<string, ServerAddress['kind']>> = {
  'redis:': 'redis',
  'rediss:': 'redis',
  'postgres:': 'postgres',
  'postgresql:': 'postgres',
}

/** The store that a setting names; CONFIG_INVALID where it names none. */
export function addressOf(setting: string): StoreAddress {
  if (setting === 'embedded') return { kind: 'embedded', shown: 'embedded' }
  const url = URL.parse(setting)
  const kind = url === null ? undefined : KINDS[url.protocol]
  if (url === null || kind === undefined) {
    // Without its text: what is no address may still hold a password.
    throw new SyncError('CONFIG_INVALID', 'queue names no store that Tidemark knows', {
      cure: 'Set it to embedded, redis://host:6379, rediss://host:6380 or postgres://user@host/database.',
    })
  }
  return { kind, url, shown: `${url.protocol}//${url.host}${url.pathname === '/' ? '' : url.pathname}` }
}

/** A driver's message without the address's password, however it is spelt. */
export function withoutSecrets(text: string, { url }: ServerAddress): string {
  const passwords = [url.password, decoded(url.password), url.searchParams.get('password') ?? '']
  const known = passwords.filter((password) => password !== '').toSorted((a, b) => b.length - a.length)
  return known.reduce((masked, password) => masked.replaceAll(password, '[secret]'), text)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
