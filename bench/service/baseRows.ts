/**
 * The texts of the rows that the bench's service sends. They are cached, so that no figure includes their generation.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ticksOfMillis } from '../../src/sandbox/ticks.ts'
import { World } from '../../src/sandbox/world.ts'

export const BASE_ROWS = 100_000
export const FIRST_ID = 1_000_000
export const ID_DIGITS = 7
/** Every row begins with `{"eventId":`. */
export const ID_AT = 11
const EPOCH_MS = Date.UTC(2020, 0, 1)
const FOLDER = join(tmpdir(), 'tidemark-bench')

export const FLAVOURS = { none: [], two: ['meetingRooms', 'assignments'], nine: undefined } as const
/** The collections of the rows: none, two, or all nine. */
export type Flavour = keyof typeof FLAVOURS

export interface BaseRows {
  readonly text: Buffer
  /** The position of each row in `text`, followed by the total length. */
  readonly starts: Float64Array
  /** Milliseconds since 1970, ascending. */
  readonly stamps: Float64Array
}

export function baseRows(flavour: Flavour): BaseRows {
  mkdirSync(FOLDER, { recursive: true })
  const path = (part: string) => join(FOLDER, `events-${flavour}-${BASE_ROWS}.${part}`)
  if (!existsSync(path('stamps'))) make(flavour, path)
  const floats = (part: string) => {
    const bytes = readFileSync(path(part))
    return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
  }
  return { text: readFileSync(path('text')), starts: floats('starts'), stamps: floats('stamps') }
}

const now = (): number => ticksOfMillis(Date.now())

function make(flavour: Flavour, path: (part: string) => string): void {
  const world = new World(
    { rows: BASE_ROWS, seed: 1, timeStyle: 'zulu', amounts: 'long', collections: true, itemsPerCollection: 2 },
    { now },
  )
  const flags = FLAVOURS[flavour]
  const starts = new Float64Array(BASE_ROWS + 1)
  const stamps = new Float64Array(BASE_ROWS)
  const texts: Buffer[] = []
  let end = 0
  for (const [n, key] of world.keys('events').entries()) {
    const text = world.rowText('events', key, flags === undefined ? {} : { flags }) ?? ''
    const bytes = Buffer.from(`${text.replace(/^\{"eventId":\d+/, `{"eventId":${FIRST_ID + n}`)},`)
    texts.push(bytes)
    starts[n] = end
    end += bytes.length
    stamps[n] = EPOCH_MS + world.stampsOf('events', key).aggregate / 10_000
  }
  starts[BASE_ROWS] = end
  writeFileSync(path('text'), Buffer.concat(texts).subarray(0, end - 1))
  writeFileSync(path('starts'), new Uint8Array(starts.buffer))
  writeFileSync(path('stamps.new'), new Uint8Array(stamps.buffer))
  renameSync(path('stamps.new'), path('stamps'))
}
