/**
 * A secret is a type that cannot be printed: every way JavaScript turns a value into text gives `[secret]`.
 * Whoever needs the value says so with `reveal()`, which is easy to find in a review.
 */
import { inspect } from 'node:util'

const MASK = '[secret]'

export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
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
