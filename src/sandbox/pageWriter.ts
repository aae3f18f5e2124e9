/**
 * Builds one response body by copying serialised pieces into one growing buffer. Pages are megabytes long and made of
 * thousands of pieces, so nothing here goes through strings that were serialised before.
 */
const FIRST_BYTES = 256 * 1_024
const ZERO = 0x30

export class PageWriter {
  #bytes: Buffer
  #length = 0

  constructor(expectedBytes = FIRST_BYTES) {
    this.#bytes = Buffer.allocUnsafeSlow(expectedBytes)
  }

  get length(): number {
    return this.#length
  }

  /** Copies `source[start, end)`. */
  copy(source: Buffer, start: number, end: number): void {
    this.#reserve(end - start)
    source.copy(this.#bytes, this.#length, start, end)
    this.#length += end - start
  }

  all(source: Buffer): void {
    this.copy(source, 0, source.length)
  }

  text(text: string): void {
    this.#reserve(text.length * 3)
    this.#length += this.#bytes.write(text, this.#length, 'utf8')
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.#length] = value
    this.#length += 1
  }

  /** A whole number that is not negative. */
  whole(value: number): void {
    this.#reserve(17)
    let digits = 1
    for (let power = 10; power <= value; power *= 10) digits += 1
    let rest = value
    for (let at = this.#length + digits - 1; at >= this.#length; at -= 1) {
      const tenth = Math.floor(rest / 10)
      this.#bytes[at] = ZERO + (rest - tenth * 10)
      rest = tenth
    }
    this.#length += digits
  }

  finish(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
