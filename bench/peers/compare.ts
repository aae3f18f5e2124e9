/**
 * Counts the rows in which a copy differs from the service. Uses plain HTTP, so that no measured program judges itself.
 */

/** Maps a row's key to its modification time (ms) and the lengths of its lists. */
export type Rows = ReadonlyMap<number, string>

export interface Differences {
  readonly lost: number
  /** Rows with another version or other lists in the copy. */
  readonly stale: number
  readonly doubled: number
  readonly extra: number
}

const EVENTS = '/reportingapi/v1/EventReport/GetEventsReport'
const TOKEN = '/authenticationapi/Account/RequestToken'
const PAGE_ROWS = 1_000

interface Row {
  readonly eventId: number
  readonly aggregateRecordModified?: string
  readonly meetingRooms?: readonly unknown[] | null
  readonly assignments?: readonly unknown[] | null
}

/** Reads all rows of a service. They must not change meanwhile. */
export async function shown(url: string): Promise<Rows> {
  const ask = async (path: string, body: object, token = ''): Promise<unknown> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    return (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  }
  const { accessToken } = (await ask(TOKEN, { clientId: 'demo', clientSecret: 'demo-secret' })) as {
    accessToken: string
  }
  const rows = new Map<number, string>()
  const expand = { meetingRooms: true, assignments: true }
  for (let pageNumber = 1; ; pageNumber += 1) {
    const body = {
      modifiedSince: '2000-01-01T00:00:00Z',
      includeDeleted: true,
      pageNumber,
      pageSize: PAGE_ROWS,
      expand,
    }
    const page = (await ask(EVENTS, body, accessToken)) as readonly Row[]
    if (page.length === 0) return rows
    for (const row of page) rows.set(row.eventId, versionOf(row))
  }
}

function versionOf({ aggregateRecordModified = '', meetingRooms, assignments }: Row): string {
  return [Date.parse(aggregateRecordModified), meetingRooms?.length ?? 0, assignments?.length ?? 0].join()
}

/** Compares the rows with lines of `key,milliseconds,length of each list`. */
export function differences(rows: Rows, lines: readonly string[]): Differences {
  const held = new Map<number, string>()
  for (const line of lines) {
    const comma = line.indexOf(',')
    held.set(Number(line.slice(0, comma)), line.slice(comma + 1))
  }
  const keys = [...rows.keys()]
  return {
    lost: keys.filter((key) => !held.has(key)).length,
    stale: keys.filter((key) => held.has(key) && held.get(key) !== rows.get(key)).length,
    doubled: lines.length - held.size,
    extra: [...held.keys()].filter((key) => !rows.has(key)).length,
  }
}
