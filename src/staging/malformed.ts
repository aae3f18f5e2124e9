/** Why a page's bytes are no JSON that we can take. The walk turns it into the error that names report and page. */
export class Malformed extends Error {
  readonly position: number
  readonly size: number
  readonly expected: string

  constructor(position: number, size: number, expected: string) {
    super(`expected ${expected} at byte ${position} of ${size}`)
    this.name = 'Malformed'
    this.position = position
    this.size = size
    this.expected = expected
  }

  /** The bytes end before the JSON does: the answer was cut. */
  get isCut(): boolean {
    return this.position >= this.size
  }
}
