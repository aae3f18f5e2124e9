/** The error of bytes that are not the expected JSON. The walk turns it into an error with report and page. */
export class MalformedJson extends Error {
  readonly position: number
  readonly size: number
  readonly expected: string

  constructor(position: number, size: number, expected: string) {
    super(`expected ${expected} at byte ${position} of ${size}`)
    this.name = 'MalformedJson'
    this.position = position
    this.size = size
    this.expected = expected
  }

  /** True when the bytes end before the JSON does: the response was cut off. */
  get isCut(): boolean {
    return this.position >= this.size
  }
}
