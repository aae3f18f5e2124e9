/** Masks secrets in text from the service. Its error messages may quote the request, with the token. */
import { type Secret, spellingsOf } from '../secret.ts'

const MASK = '[secret]'
/** Only this many of the newest tokens are masked. Concurrent requests never use more tokens. */
const TOKENS_REMEMBERED_MAX = 16
const JWT_LIKE = /eyJ[\w-]{4,}\.[\w-]+\.?[\w-]*/g
const BEARER = /\bbearer\s+[\w.~+/=-]{8,}/gi
const UNICODE_ESCAPE = /\\u([0-9a-fA-F]{4})/g
// oxlint-disable-next-line no-control-regex -- control characters must not reach a terminal
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffd\s]+/g

export class Redactor {
  readonly #clientSecret: Secret
  readonly #tokens = new Set<Secret>()

  constructor(clientSecret: Secret) {
    this.#clientSecret = clientSecret
  }

  hide(token: Secret): void {
    this.#tokens.add(token)
    const [oldest] = this.#tokens
    if (oldest !== undefined && this.#tokens.size > TOKENS_REMEMBERED_MAX) this.#tokens.delete(oldest)
  }

  /** Returns the text without secrets and control characters. */
  shown(text: string, charsMax: number): string {
    const clean = this.#masked(text).replace(UNPRINTABLE, ' ').trim()
    return clean.length <= charsMax ? clean : `${clean.slice(0, charsMax - 1)}…`
  }

  #masked(text: string): string {
    // JSON may contain a secret with escapes, such as `\u002b` for `+`.
    let masked = text.replace(UNICODE_ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    for (const secret of [this.#clientSecret, ...this.#tokens]) {
      for (const spelling of spellingsOf(secret.reveal())) masked = masked.replaceAll(spelling, MASK)
    }
    return masked.replace(JWT_LIKE, MASK).replace(BEARER, `Bearer ${MASK}`)
  }
}
