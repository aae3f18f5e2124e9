/**
 * A secret is a type that cannot be printed: every way JavaScript turns a value into text gives `[secret]`.
 * Whoever needs the value says so with `reveal()`, which is easy to find in a review.
 */
import { inspect } from 'node:util'

const MASK = '[secret]'

export class Secret {
  #value: string
  readonly #source: (() => Promise<string | undefined>) | undefined

  /** `source`: where it may be read anew, as a file is whose secret is changed now and then. */
  constructor(value: string, source?: () => Promise<string | undefined>) {
    this.#value = value
    this.#source = source
  }

  /** Takes what its source holds now, where that holds one; whoever has this secret has the new one. True: it is another. */
  async readAgain(): Promise<boolean> {
    const now = await this.#source?.()
    if (now === undefined || now === this.#value) return false
    this.#value = now
    return true
  }

  /** The value itself. Only the client's authentication calls this. */
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
