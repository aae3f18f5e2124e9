/** Seeded chance (sfc32): the only source of chance in a simulation, so that a seed is a whole history. */
export class Chance {
  #a: number
  #b: number
  #c: number
  #counter = 1

  /** `label` makes independent streams of one seed: drawing more from one leaves the others as they were. */
  constructor(seed: number, label = '') {
    this.#a = 0x9e3779b9 ^ seed
    this.#b = 0x243f6a88
    this.#c = 0xb7e15162
    for (const letter of label) this.#b = Math.imul(this.#b ^ (letter.codePointAt(0) ?? 0), 0x01000193)
    for (let round = 0; round < 15; round += 1) this.next()
  }

  /** Uniform in [0, 1). */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    this.#c |= 0
    return (sum >>> 0) / 2 ** 32
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  happens(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T
  }

  shuffled<T>(items: readonly T[]): T[] {
    const shuffled = [...items]
    for (let last = shuffled.length - 1; last > 0; last -= 1) {
      const other = this.int(0, last)
      const held = shuffled[last] as T
      shuffled[last] = shuffled[other] as T
      shuffled[other] = held
    }
    return shuffled
  }
}
