/**
 * A secret that cannot be printed: each way in which JavaScript turns a value into text returns `[secret]`. The value is
 * read with `reveal()` only, which is easy to find in a review.
 */
import { inspect } from 'node:util'

const MASK = '[secret]'

export class Secret {
  #value: string
  readonly #source: (() => Promise<string | undefined>) | undefined

  /** `source` reads the secret again, for example from a file that is replaced from time to time. */
  constructor(value: string, source?: () => Promise<string | undefined>) {
    this.#value = value
    this.#source = source
  }

  /** Reads the secret from its source again. Returns true when the secret has changed. */
  async readAgain(): Promise<boolean> {
    const now = await this.#source?.()
    if (now === undefined || now === this.#value) return false
    this.#value = now
    return true
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
