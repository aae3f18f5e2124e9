/** A set of row keys for walks over millions of rows. A number takes 13 to 27 bytes, a string about 100. */
const EMPTY = Number.NaN
const LOAD_FACTOR = 0.6
const SLOTS_AT_FIRST = 1024

export class KeySet {
  #slots = new Float64Array(SLOTS_AT_FIRST).fill(EMPTY)
  #numbers = 0
  readonly #others = new Set<string>()

  get size(): number {
    return this.#numbers + this.#others.size
  }

  add(key: number | string): boolean {
    if (typeof key === 'string') {
      if (this.#others.has(key)) return false
      this.#others.add(key)
      return true
    }
    const slot = this.#slotOf(key)
    if (this.#slots[slot] === key) return false
    this.#slots[slot] = key
    this.#numbers += 1
    if (this.#numbers > this.#slots.length * LOAD_FACTOR) this.#grow()
    return true
  }

  has(key: number | string): boolean {
    return typeof key === 'string' ? this.#others.has(key) : this.#slots[this.#slotOf(key)] === key
  }

  *[Symbol.iterator](): Iterator<number | string> {
    for (const slot of this.#slots) if (!Number.isNaN(slot)) yield slot
    yield* this.#others
  }

  #slotOf(key: number): number {
    const mask = this.#slots.length - 1
    let slot = scatter(key) & mask
    while (!Number.isNaN(this.#slots[slot] ?? 0) && this.#slots[slot] !== key) slot = (slot + 1) & mask
    return slot
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Float64Array(old.length * 2).fill(EMPTY)
    for (const key of old) if (!Number.isNaN(key)) this.#slots[this.#slotOf(key)] = key
  }
}

/** Hashes both halves of the number, so that consecutive identifiers are spread over the table. */
function scatter(key: number): number {
  const low = Math.imul(key | 0, 0x9e3779b1)
  const high = Math.imul((key / 4_294_967_296) | 0, 0x85ebca6b)
  const mixed = low ^ high
  return (mixed ^ (mixed >>> 15)) >>> 0
}
