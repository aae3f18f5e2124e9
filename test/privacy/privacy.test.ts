/**
 * What is private never reaches the disk: hashed or dropped in every place where a row may stand, whatever row it is.
 */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { Secret } from '../../src/secret.ts'
import { keyedHash } from '../../src/staging/privatePage.ts'
import { retryRejected } from '../../src/sync/retryRejected.ts'
import { aPlace } from '../cli/support.ts'
import { aTide, type Tide } from '../support/tide.ts'
import { filesWith } from './support.ts'

const KEY = '0123456789abcdef0123456789abcdef'
const MARKED = 'Marked.Person@private.example'
const HASH = keyedHash(MARKED, new Secret(KEY))
/** The address as it is, and as JSON may write it. */
const SPELLINGS = [MARKED, MARKED.toLowerCase(), 'rson@private']

const PRIVATE = {
  booker_email: 'hash',
  contact_mail: 'hash',
  secret_number: 'hash',
  odd_thing: 'drop',
  notes: 'drop',
  'attendees.email': 'hash',
  'attendees.spare_mail': 'drop',
  'user_details.email': 'hash',
  'custom_data.value': 'drop',
}

/** A row with the address in every private place. */
const row = (id: number, more: Record<string, unknown> = {}) => ({
  officeReservationId: id,
  bookerEmail: MARKED,
  bookerCompany: `Company ${id}`,
  status: 1,
  contactMail: MARKED,
  ContactMail: MARKED,
  secretNumber: 12_345_678_901,
  oddThing: { deep: [{ mail: MARKED }] },
  notes: `call ${MARKED}`,
  attendees: [
    { id: 1, email: MARKED, spareMail: [MARKED] },
    { id: 2, email: null, name: 'Ben', isDeleted: true, deep: { a: 1.5 } },
    MARKED,
  ],
  userDetails: [{ email: { address: MARKED } }],
  customData: [{ value: MARKED, label: 'x' }],
  ...more,
})

/** Rows of which some can't be stored: each holds the address where it is private. */
const pageText = (rows: readonly unknown[]): string => {
  const doubled = `{"officeReservationId":900,"bookerEmail":"x","bookerEmail":"${MARKED}"}`
  const escaped = `{"officeReservationId":901,"booker\\u0045mail":"Marked.Person\\u0040private.example","status":1}`
  const odd = [`"${MARKED}"`, `["${MARKED}"]`, doubled, escaped]
  return `[${[...rows.map((each) => JSON.stringify(each)), ...odd].join(',')}]`
}

interface Office extends AsyncDisposable {
  readonly url: string
  rows: unknown[]
}

/** A service that sends what a test puts there, to every question. */
async function anOffice(): Promise<Office> {
  const office = { rows: [] as unknown[] }
  const server = createServer((request, response) => {
    const answer = request.url?.includes('oken') === true ? token : page()
    response.writeHead(200, { 'content-type': 'application/json', date: new Date().toUTCString() }).end(answer)
  })
  const token = JSON.stringify({ accessToken: 'token', tokenType: 'Bearer', expiresIn: 3_600 })
  const page = () => {
    const text = pageText(office.rows)
    return `{"items":${text},"pageNumber":1,"pageSize":500,"totalCount":${office.rows.length + 4}}`
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return Object.assign(office, {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  })
}

const yaml = (url: string, own: object) =>
  JSON.stringify({
    service: { base_url: url, client_id: 'demo' },
    warehouse: 'data/warehouse.duckdb',
    reports: { office_reservations: own },
  })

const ENV = { REPORTING_CLIENT_SECRET: 'demo-secret', TIDEMARK_HASH_KEY: KEY, TIDEMARK_REPORTS: 'office_reservations' }

describe('a private value', () => {
  it('is in no file after a sync: tables, log of changes, published copy, export, refused rows, output', async () => {
    await using office = await anOffice()
    office.rows = [row(1), row(2), row(3, { status: MARKED, bookerEmail: [MARKED] }), { bookerEmail: MARKED }]
    const settings = { columns: { ...PRIVATE, status: 'drop' }, history: true }
    await using place = await aPlace({ files: { 'tidemark.yaml': yaml(office.url, settings) }, env: ENV })
    const first = await place.run('sync', '--json')
    expect(first.code, first.stdout + first.stderr).toBe(0)
    office.rows = [row(1, { bookerCompany: 'Changed', attendees: [{ id: 1, email: MARKED, name: 'New' }] }), row(2)]
    const second = await place.run('sync', '--json')
    const exported = await place.run('export', '--to', path.join(place.folder, 'exported'))
    expect([second.code, exported.code]).toEqual([0, 0])
    expect(await filesWith(place.folder, SPELLINGS)).toEqual([])
    for (const { stdout, stderr } of [first, second, exported]) expect(stdout + stderr).not.toContain('private.example')
    const found = await place.run('query', '--format', 'json', everyText)
    expect(found.stdout, found.stderr).not.toContain('rivate.example')
    const [hash] = JSON.parse((await place.run('query', '--format', 'json', HASHES)).stdout) as { n: number }[]
    expect(hash?.n).toBe(5)
  })

  it('is in no staged file while they are there, nor in the warehouse beside its log', async () => {
    await using tide = await anOfficeTide({ columns: PRIVATE })
    const { warehouse } = tide.context
    let looked: string[] = []
    const loadInto = warehouse.load.bind(warehouse)
    const load: typeof warehouse.load = async (input) => {
      looked = [...looked, ...(await filesWith(path.dirname(tide.config.warehouse), SPELLINGS))]
      expect(input.segment === undefined || input.segment.rows > 0).toBe(true)
      const result = await loadInto(input)
      const copy = path.join(path.dirname(tide.config.warehouse), 'copied')
      await mkdir(copy, { recursive: true })
      await cp(tide.config.warehouse, path.join(copy, 'w.duckdb'))
      await cp(`${tide.config.warehouse}.wal`, path.join(copy, 'w.wal')).catch(() => undefined)
      looked = [...looked, ...(await filesWith(path.dirname(tide.config.warehouse), SPELLINGS))]
      return result
    }
    Object.assign(warehouse, { load })
    await tide.sync('office_reservations')
    expect(looked).toEqual([])
    const [rows] = await tide.warehouse.rows<{ n: number }>('SELECT count(*) AS n FROM office_reservations')
    expect(rows?.n).toBe(4)
  })

  it('hashes the same in every report and spelling, as it was sent; null stays null', async () => {
    await using tide = await anOfficeTide({ columns: PRIVATE })
    await tide.sync('office_reservations')
    const rows = await tide.warehouse.rows(`
      SELECT DISTINCT booker_email, contact_mail, contact_mail_2, secret_number, _extra
      FROM office_reservations WHERE office_reservation_id < 900`)
    const number = keyedHash('12345678901', new Secret(KEY))
    expect(rows).toEqual([
      { booker_email: HASH, contact_mail: HASH, contact_mail_2: HASH, secret_number: number, _extra: null },
    ])
    const people = await tide.warehouse.rows(
      'SELECT email, name, _payload::VARCHAR AS sent FROM office_reservations__attendees WHERE office_reservation_id = 1 ORDER BY _position',
    )
    expect(people).toMatchObject([
      { email: HASH, sent: expect.stringContaining('"spareMail":null') as string },
      { email: null, name: 'Ben' },
      { email: null, sent: expect.stringContaining('withheld') as string },
    ])
  })
})

describe('a column that becomes private later', () => {
  it('is emptied where nothing comes again, and hashed where it does', async () => {
    await using tide = await anOfficeTide({ columns: {}, history: true })
    await tide.sync('office_reservations')
    tide.office.rows = [
      row(1, { bookerCompany: 'Changed', attendees: [{ id: 1, email: MARKED, name: 'New' }] }),
      row(2),
      row(3, { status: MARKED }),
    ]
    await tide.sync('office_reservations')
    const [closed] = await tide.warehouse.rows<{ n: number }>(
      'SELECT count(*) AS n FROM history.office_reservations__attendees WHERE _valid_to IS NOT NULL AND email IS NOT NULL',
    )
    expect([closed?.n, (await clearTexts(tide)) > 10]).toEqual([1, true])
    tide.office.rows = [row(1), row(2)]
    const { office_reservations: report } = tide.config.reports
    const columns: Record<string, 'hash' | 'drop'> = { ...(PRIVATE as Record<string, 'hash' | 'drop'>), status: 'drop' }
    const privacy = { columns, excludePayload: false }
    const reports = { ...tide.config.reports, office_reservations: { ...report, privacy } }
    Object.assign(tide.context, { settings: { ...tide.context.settings, reports, hashKey: new Secret(KEY) } })
    // What was refused in the clear is not taken up again under the new rules.
    await expect(retryRejected(tide.context, 'office_reservations')).rejects.toMatchObject({ code: 'USAGE_INVALID' })
    await tide.sync('office_reservations')
    expect(await clearTexts(tide)).toBe(0)
    expect(await retryRejected(tide.context, 'office_reservations')).toMatchObject({ loaded: 0 })
    expect(await clearTexts(tide)).toBe(0)
    const rows = await tide.warehouse.rows(
      'SELECT office_reservation_id AS id, booker_email AS mail, secret_number FROM office_reservations WHERE office_reservation_id < 900 ORDER BY 1',
    )
    const number = keyedHash('12345678901', new Secret(KEY))
    expect(rows).toEqual([
      { id: 1, mail: HASH, secret_number: number },
      { id: 2, mail: HASH, secret_number: number },
      { id: 3, mail: null, secret_number: null },
    ])
    expect(await tide.warehouse.rows('SELECT key FROM tidemark.misfits WHERE "column" <> \'email\'')).toEqual([])
  })
})

describe('a rule for a column that has a number, since two fields give one name', () => {
  it('is refused, and told that the name without it means both', { tags: 'long' }, async () => {
    await using tide = await anOfficeTide({ columns: {} })
    const remarks = { remark: 'open', Remark: MARKED }
    tide.office.rows = [row(1, { ...remarks, attendees: [{ id: 1, phone: '1', Phone: MARKED }] })]
    await tide.sync('office_reservations')
    const { office_reservations: report } = tide.config.reports
    const ruled = (columns: Record<string, 'hash' | 'drop'>) => {
      const office_reservations = { ...report, privacy: { columns, excludePayload: false } }
      const reports = { ...tide.config.reports, office_reservations }
      Object.assign(tide.context, { settings: { ...tide.context.settings, reports } })
      return tide.sync('office_reservations')
    }
    await expect(ruled({ remark_2: 'drop' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: 'columns: remark_2 is filled by the field Remark',
      cure: expect.stringContaining('Name remark instead') as string,
    })
    await expect(ruled({ 'attendees.phone_2': 'drop' })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      cure: expect.stringContaining('Name attendees.phone instead') as string,
    })
    await ruled({ remark: 'drop', 'attendees.phone': 'drop' })
    const kept = await tide.warehouse.rows(`SELECT remark, remark_2, phone, phone_2
      FROM office_reservations JOIN office_reservations__attendees USING (office_reservation_id) WHERE phone_2 IS NULL LIMIT 1`)
    expect(kept).toEqual([{ remark: null, remark_2: null, phone: null, phone_2: null }])
  })
})

describe('exclude_payload', () => {
  it('keeps columns only: nothing as it was sent, also not of refused rows', async () => {
    await using tide = await anOfficeTide({ exclude_payload: true })
    tide.office.rows = [row(1), { officeReservationId: 2, status: `no number but ${MARKED}` }]
    await tide.sync('office_reservations')
    const sent = await tide.warehouse.rows(`
      SELECT count(_extra) + (SELECT count(_payload) FROM office_reservations__attendees) AS n FROM office_reservations`)
    expect(sent).toEqual([{ n: 0 }])
    const refused = await tide.warehouse.rows<{ key: string; reason: string; row: string }>(
      'SELECT key, reason, row::VARCHAR AS row FROM tidemark.rejected_rows',
    )
    expect(await tide.warehouse.rows('SELECT key, "column", value, reason FROM tidemark.misfits')).toContainEqual({
      key: '2',
      column: 'status',
      value: null,
      reason: 'no 64-bit integer',
    })
    expect(refused.length).toBeGreaterThan(0)
    for (const { reason, row: kept } of refused) {
      expect(kept).toMatch(/^"withheld by /)
      expect(reason).not.toContain('rivate')
    }
    const [people] = await tide.warehouse.rows<{ n: number }>(
      'SELECT count(email) AS n FROM office_reservations__attendees',
    )
    expect(people?.n).toBe(1)
  })
})

describe('settings about privacy', () => {
  const refusals = [
    [{ columns: { office_reservation_id: 'drop' } }, 'is part of the key'],
    [{ columns: { status: 'hash' } }, "is BIGINT and can't be hashed"],
    [{ columns: { 'guests.email': 'drop' } }, 'guests is no collection of office_reservations'],
    [{ columns: { 'attendees.id': 'drop' } }, 'id identifies the items of attendees'],
    [{ columns: { bookerEmail: 'drop' } }, 'named as in the tables (booker_email?)'],
    [{ columns: { is_deleted: 'drop' } }, "is Tidemark's own column"],
    [{ columns: { attendees: 'hash' } }, 'is a collection'],
    [{ columns: { booker_email: 'hash' } }, 'hash needs a key'],
  ] as const

  it.each(refusals)('%j is refused at the start: %s', async (own, said) => {
    const { TIDEMARK_HASH_KEY: _, ...env } = ENV
    await using place = await aPlace({ files: { 'tidemark.yaml': yaml('http://127.0.0.1:9', own) }, env })
    const { code, stderr } = await place.run('sync')
    expect(code).toBe(2)
    expect(stderr).toContain(said)
  })

  it('take the key from a file, and refuse one that could be guessed without showing it', async () => {
    const text = yaml('http://127.0.0.1:9', { columns: { booker_email: 'hash' } })
    const { TIDEMARK_HASH_KEY: _, ...env } = ENV
    await using place = await aPlace({ files: { 'tidemark.yaml': text, key: 'shortkey\n' }, env })
    await writeFile(path.join(place.folder, '.env'), 'TIDEMARK_HASH_KEY_FILE=key')
    const { code, stderr } = await place.run('sync')
    expect([code, stderr.includes('at least 16 characters'), stderr.includes('shortkey')]).toEqual([2, true, false])
  })
})

type OfficeTide = Tide & { readonly office: Office }

async function anOfficeTide(own: object): Promise<OfficeTide> {
  const office = await anOffice()
  office.rows = [row(1), row(2), row(3), { bookerEmail: MARKED }]
  const tide = await aTide({
    settings: {
      service: { base_url: office.url, client_id: 'demo' },
      reports: { office_reservations: own },
    },
    env: { TIDEMARK_HASH_KEY: KEY },
  })
  const close = tide[Symbol.asyncDispose].bind(tide)
  const closeBoth = async () => {
    await close()
    await office[Symbol.asyncDispose]()
  }
  return Object.assign(tide, { office, [Symbol.asyncDispose]: closeBoth })
}

const TEXT_OF = (table: string) => `SELECT to_json(t)::VARCHAR AS text FROM ${table} t`
const TABLES = [
  'main.office_reservations',
  'main.office_reservations__attendees',
  'main.office_reservations__user_details',
  'main.office_reservations__custom_data',
  'history.office_reservations',
  'history.office_reservations__attendees',
  'tidemark.rejected_rows',
  'tidemark.misfits',
  'tidemark.schema_changes',
]
const everyText = TABLES.map(TEXT_OF).join(' UNION ALL ')
const HASHES = `SELECT count(*) AS n FROM (SELECT booker_email AS h FROM main.office_reservations WHERE office_reservation_id < 900 UNION ALL SELECT email FROM main.office_reservations__attendees) WHERE h = '${HASH}'`

async function clearTexts(tide: Tide): Promise<number> {
  const [found] = await tide.warehouse.rows<{ n: number }>(
    `SELECT count(*) AS n FROM (${everyText}) WHERE text LIKE '%rivate.example%'`,
  )
  return found?.n ?? 0
}
