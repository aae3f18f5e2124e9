/** Shares the token, its lease and pauses of requests among processes, through the queue store. */
import { randomUUID } from 'node:crypto'
import type { SharedPauses } from '../../src/client/limiter.ts'
import type { StoredToken, TokenStore } from '../../src/client/tokens.ts'
import { type Clock, repeat } from '../../src/clock.ts'
import { MINUTE_MS } from '../../src/instant.ts'
import { Secret } from '../../src/secret.ts'
import { identityHash, tokenCipher } from './tokenCipher.ts'

export interface StoredValue {
  readonly text: string
  readonly remainingMs: number
}

/** Short texts that several processes share. Each text expires after `ms` by the store's clock. */
export interface SharedValues {
  read(name: string): Promise<StoredValue | undefined>
  write(name: string, text: string, ms: number): Promise<void>
  /** Stores the text if the name has no value. If several processes call this, only one of them receives true. */
  claim(name: string, text: string, ms: number): Promise<boolean>
  /** Lets the value expire in `ms`, if it is `text`. Returns false if the name has another value or none. */
  renew(name: string, text: string, ms: number): Promise<boolean>
  remove(name: string, text: string): Promise<void>
  /** Stores an empty value that expires after `ms`, unless the stored value already expires later. */
  prolong(name: string, ms: number): Promise<void>
}

/** The lease of a token request. A process whose event loop is blocked for longer loses the lease. */
const REFRESH_LEASE_MS = 10_000
const RENEWALS_PER_LEASE = 3
const POLLS_PER_LEASE = 50
/** How long all processes wait before they resend credentials that the service has refused. */
const REFUSAL_MS = 10 * MINUTE_MS

const REFUSED = 'refused'

export interface LeaseRequest {
  readonly name: string
  readonly ms: number
  readonly signal: AbortSignal
}

/** Waits for the lease `name`, and runs `work` with it. Aborts `lost` if another process has taken the lease. */
export async function withLease<T>(
  { values, clock }: Pick<SharedTokensOptions, 'values' | 'clock'>,
  { name, ms, signal }: LeaseRequest,
  work: (lost: AbortSignal) => Promise<T>,
): Promise<T> {
  const holder = randomUUID()
  const claim = () => values.claim(name, holder, ms)
  while (!(await claim())) await clock.sleep((ms / POLLS_PER_LEASE) * (0.5 + clock.random()), signal)
  const losing = new AbortController()
  // Renews the lease. If the store has lost the lease, for example in a restart of Redis, claims it again.
  using _ = repeat(ms / RENEWALS_PER_LEASE, clock, async () => {
    if (!(await values.renew(name, holder, ms)) && !(await claim())) losing.abort()
  })
  try {
    signal.throwIfAborted()
    return await work(losing.signal)
  } finally {
    await values.remove(name, holder).catch(() => undefined)
  }
}

interface SharedTokensOptions {
  readonly values: SharedValues
  readonly clock: Clock
  readonly access: { readonly identity: string; readonly secret: Secret }
  readonly leaseMs?: number | undefined
}

export function sharedTokens(options: SharedTokensOptions): TokenStore {
  const { values, access, leaseMs = REFRESH_LEASE_MS } = options
  const cipher = tokenCipher(access)
  const name = identityHash(access.identity)
  const [tokenName, leaseName, refusalName] = [`token:${name}`, `lease:${name}`, `refusal:${name}`]

  const readToken = async (): Promise<{ token?: StoredToken; text: string }> => {
    const { text = '', remainingMs = 0 } = (await values.read(tokenName)) ?? {}
    const opened = cipher.decrypt(text)
    if (opened === undefined) return { text }
    const { accessToken, lifetimeMs, scopes } = JSON.parse(opened) as TokenContent
    return { token: { accessToken: new Secret(accessToken), lifetimeMs, remainingMs, scopes }, text }
  }

  return {
    read: async () => (await readToken()).token,
    write: async ({ accessToken, lifetimeMs, remainingMs, scopes }) => {
      const content: TokenContent = { accessToken: accessToken.reveal(), lifetimeMs, scopes }
      if (remainingMs > 0) await values.write(tokenName, cipher.encrypt(JSON.stringify(content)), remainingMs)
    },
    drop: async (accessToken) => {
      const { token, text } = await readToken()
      if (token?.accessToken.reveal() === accessToken.reveal()) await values.remove(tokenName, text)
    },
    hasRefusal: async () => cipher.decrypt((await values.read(refusalName))?.text ?? '') === REFUSED,
    storeRefusal: () => values.write(refusalName, cipher.encrypt(REFUSED), REFUSAL_MS),
    deleteRefusal: async () => {
      const kept = await values.read(refusalName)
      if (kept !== undefined) await values.remove(refusalName, kept.text)
    },
    withLock: (refresh, signal) => withLease(options, { name: leaseName, ms: leaseMs, signal }, refresh),
  }
}

/** The content of a shared token. It is not validated: only a process with the client secret can have encrypted it. */
type TokenContent = Pick<StoredToken, 'lifetimeMs' | 'scopes'> & { readonly accessToken: string }

export function sharedPauses(values: SharedValues, identity: string): SharedPauses {
  const name = `pause:${identityHash(identity)}`
  return {
    pause: async (ms) => {
      if (ms > 0) await values.prolong(name, ms)
    },
    remainingMs: async () => Math.max(0, (await values.read(name))?.remainingMs ?? 0),
  }
}
