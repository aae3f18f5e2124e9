/** Shares one encrypted token among all processes on one store. Only one process at a time requests a new token. */
import { randomUUID } from 'node:crypto'
import type { StoredToken, TokenStore } from '../../src/client/tokens.ts'
import type { Clock } from '../../src/clock.ts'
import { SyncError } from '../../src/errors.ts'
import { MINUTE_MS } from '../../src/instant.ts'
import { Secret } from '../../src/secret.ts'
import { identityHash, TokenCipher } from './tokenCipher.ts'
import type { SharedValues } from './sharedValues.ts'
import { messageOf } from './problemLog.ts'

/** The lease must last longer than the event loop can be blocked, because a blocked process cannot renew the lease. */
export const REFRESH_LEASE_MS = 10_000
const RENEWALS_PER_LEASE = 3
const POLL_EVERY_MS = 100
/** After the service refuses the credentials, no process requests a token for this time, not even after a restart. */
const REFUSAL_MS = 10 * MINUTE_MS

const REFUSED = 'refused'

export interface SharedTokensOptions {
  readonly values: SharedValues
  readonly clock: Clock
  readonly access: { readonly identity: string; readonly secret: Secret }
  readonly leaseMs?: number | undefined
  readonly mask: (text: string) => string
}

export class SharedTokens implements TokenStore {
  readonly #parts: SharedTokensOptions
  readonly #cipher: TokenCipher
  readonly #names: { readonly token: string; readonly lease: string; readonly refusal: string }
  readonly #leaseMs: number

  constructor(parts: SharedTokensOptions) {
    const { identity } = parts.access
    const name = identityHash(identity)
    this.#parts = parts
    this.#cipher = new TokenCipher(parts.access)
    this.#names = { token: `token:${name}`, lease: `lease:${name}`, refusal: `refusal:${name}` }
    this.#leaseMs = parts.leaseMs ?? REFRESH_LEASE_MS
  }

  async read(): Promise<StoredToken | undefined> {
    const { token } = await this.#read()
    return token
  }

  async write({ accessToken, lifetimeMs, remainingMs, scopes }: StoredToken): Promise<void> {
    if (remainingMs <= 0) return
    const text = this.#cipher.encrypt(JSON.stringify({ accessToken: accessToken.reveal(), lifetimeMs, scopes }))
    await this.#callStore(this.#parts.values.write(this.#names.token, text, remainingMs))
  }

  async drop(accessToken: Secret): Promise<void> {
    const { token, text } = await this.#read()
    if (token?.accessToken.reveal() !== accessToken.reveal()) return
    await this.#callStore(this.#parts.values.remove(this.#names.token, text))
  }

  async refused(): Promise<boolean> {
    const kept = await this.#callStore(this.#parts.values.read(this.#names.refusal))
    return kept !== undefined && this.#cipher.decrypt(kept.text) === REFUSED
  }

  async refuse(): Promise<void> {
    await this.#callStore(this.#parts.values.write(this.#names.refusal, this.#cipher.encrypt(REFUSED), REFUSAL_MS))
  }

  async forgive(): Promise<void> {
    const kept = await this.#callStore(this.#parts.values.read(this.#names.refusal))
    if (kept !== undefined) await this.#callStore(this.#parts.values.remove(this.#names.refusal, kept.text))
  }

  async withLock<T>(refresh: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const holder = randomUUID()
    const { values, clock } = this.#parts
    while (!(await this.#callStore(values.claim(this.#names.lease, holder, this.#leaseMs)))) {
      await clock.sleep(POLL_EVERY_MS * (0.5 + clock.random()), signal)
    }
    using _renewing = this.#renewLease(holder)
    try {
      signal.throwIfAborted()
      return await refresh()
    } finally {
      await values.remove(this.#names.lease, holder).catch(() => undefined)
    }
  }

  /** Renews the lease until the returned object is disposed, because a token request can take minutes. */
  #renewLease(holder: string): Disposable {
    const { values, clock } = this.#parts
    const everyMs = this.#leaseMs / RENEWALS_PER_LEASE
    let ended = false
    let cancelTimer: (() => void) | undefined
    const renew = () => {
      values.renew(this.#names.lease, holder, this.#leaseMs).then(again, again)
    }
    const again = () => {
      if (!ended) cancelTimer = clock.after(everyMs, renew)
    }
    again()
    return {
      [Symbol.dispose]: () => {
        ended = true
        cancelTimer?.()
      },
    }
  }

  async #read(): Promise<{ token: StoredToken | undefined; text: string }> {
    const kept = await this.#callStore(this.#parts.values.read(this.#names.token))
    const opened = kept === undefined ? undefined : this.#cipher.decrypt(kept.text)
    if (kept === undefined || opened === undefined) return { token: undefined, text: '' }
    const { accessToken, lifetimeMs, scopes } = JSON.parse(opened) as TokenContent
    const token = { accessToken: new Secret(accessToken), lifetimeMs, remainingMs: kept.remainingMs, scopes }
    return { token, text: kept.text }
  }

  async #callStore<T>(call: Promise<T>): Promise<T> {
    try {
      return await call
    } catch (error) {
      throw new SyncError(
        'QUEUE_UNREACHABLE',
        `the shared token cannot be reached: ${this.#parts.mask(messageOf(error))}`,
        { cure: 'Check that the queue store runs. The worker then continues by itself.' },
      )
    }
  }
}

/** A decrypted token is not validated, because only a Tidemark process can have encrypted it. */
interface TokenContent {
  readonly accessToken: string
  readonly lifetimeMs: number
  readonly scopes: readonly string[] | undefined
}
