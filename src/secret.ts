/** A secret that cannot be printed: its text is `[secret]`. Only `reveal()` returns the value. */
import { createHash } from 'node:crypto'
import { inspect } from 'node:util'

const MASK = '[secret]'

export class Secret {
  #value: string
  readonly #source: (() => Promise<string | undefined>) | undefined

  /** `source` reads the secret again, for example from a file that an operator has replaced. */
  constructor(value: string, source?: () => Promise<string | undefined>) {
    this.#value = value
    this.#source = source
  }

  async readAgain(): Promise<boolean> {
    const now = await this.#source?.()
    if (now === undefined || now === this.#value) return false
    this.#value = now
    return true
  }

  /** 16 bits show that the secret has changed, but do not help to guess the secret. */
  get shortHash(): string {
    return createHash('sha256').update(this.#value).digest('hex').slice(0, 4)
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return MASK
  }

  toJSON(): string {
    return MASK
  }

  [inspect.custom](): string {
    return MASK
  }
}

/** `keys`: the ID of an access key, its secret and, for temporary credentials, a session token. */
export interface StorageAccess<Key = Secret> extends Readonly<Record<'endpoint' | 'region' | 'urlStyle', string>> {
  readonly keys: readonly Key[]
}

/** Returns the spellings of a secret in JSON, URLs, HTML and Base64, longest first. */
export function spellingsOf(value: string): string[] {
  if (value === '') return []
  const inUrl = encodeURIComponent(value)
  const inForms = [inUrl.replaceAll('%20', '+'), new URLSearchParams([['', value]]).toString().slice(1)]
  const inHtml = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const quoted = [inHtml.replaceAll('"', '&quot;').replaceAll("'", '&#39;'), inHtml.replaceAll("'", '&#x27;')]
  const inJson = insideJson(value)
  const jsons = [inJson, insideJson(inJson), inJson.replaceAll('/', '\\/')]
  const base64 = Buffer.from(value).toString('base64')
  const lowerHex = inUrl.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())
  const all = [value, inUrl, ...inForms, lowerHex, inHtml, ...quoted, ...jsons, base64, base64.replaceAll('=', '')]
  return [...new Set(all)].sort((a, b) => b.length - a.length)
}

const insideJson = (text: string): string => JSON.stringify(text).slice(1, -1)
