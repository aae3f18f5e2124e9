/** The error for bytes that are not the expected JSON. The walk converts it to an error that names report and page. */
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

  /** Returns whether the JSON is incomplete, because the response was cut off. */
  get isCut(): boolean {
    return this.position >= this.size
  }
}
