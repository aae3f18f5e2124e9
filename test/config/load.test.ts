/** What a configuration means: defaults, which source wins, which reports run and with what. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { officeReservations } from '../../schema/reports/officeReservations.ts'
import { loadConfig } from '../../src/config/config.ts'
import { formatInstant } from '../../src/instant.ts'
import { bodyOf } from '../../src/plan/question.ts'
import { aFolder, configOf, REQUIRED_ENV, SECRET_TEXT } from './folder.ts'

describe('sources', () => {
  it('needs no file when the environment has all that is required', async () => {
    await using folder = await aFolder()
    const config = await loadConfig({ env: REQUIRED_ENV, cwd: folder.path })
    expect(config.service.baseUrl.href).toBe('https://reports.example.com/')
    expect(config.service.clientId).toBe('acme')
    expect(config.warehouse).toBe(path.join(folder.path, 'data/warehouse.duckdb'))
    expect(config.published).toBe(path.join(folder.path, 'data/published.duckdb'))
    expect(config.staging).toBe(`${config.warehouse}.staging`)
    expect(config.queue).toBe('embedded')
    expect(config.console).toEqual({ host: '127.0.0.1', port: 7717, proxies: [] })
    expect(config.source).toEqual({
      env: ['REPORTING_BASE_URL', 'REPORTING_CLIENT_ID', 'REPORTING_CLIENT_SECRET'],
      editedKeys: expect.any(Function),
    })
  })

  it('counts relative paths from the folder of the file, and reads the .env there', async () => {
    await using folder = await aFolder({
      'other.yaml':
        'service: { base_url: https://file.example.com/sub/, client_secret_file: secret.txt }\nwarehouse: w.duckdb',
      '.env': 'REPORTING_CLIENT_ID=from-dot-env\nTIDEMARK_PUBLISHED=out/p.duckdb\nTIDEMARK_QUEUE_URL=',
      'secret.txt': `${SECRET_TEXT}\n`,
    })
    const config = await loadConfig({ file: path.join(folder.path, 'other.yaml'), env: {}, cwd: '/' })
    expect(config.service.clientId).toBe('from-dot-env')
    expect(config.service.clientSecret.reveal()).toBe(SECRET_TEXT)
    expect(config.service.baseUrl.href).toBe('https://file.example.com/sub/')
    expect(config.warehouse).toBe(path.join(folder.path, 'w.duckdb'))
    expect(config.published).toBe(path.join(folder.path, 'out/p.duckdb'))
    expect(config.queue).toBe('embedded')
    expect(config.source).toEqual({
      file: path.join(folder.path, 'other.yaml'),
      env: ['REPORTING_CLIENT_ID', 'TIDEMARK_PUBLISHED'],
      editedKeys: expect.any(Function),
    })
  })

  it('knows which settings were edited since it was read, without their values, and which error is in them now', async () => {
    const before =
      'currencies: [EUR]\nqueue: redis://user:first@queue\nreports: { events: { every: 5m, page_size: 10 } }'
    await using folder = await aFolder({ 'tidemark.yaml': before, '.env': 'TIDEMARK_CONSOLE_TOKEN=first' })
    const { source } = await loadConfig({ env: REQUIRED_ENV, cwd: folder.path })
    const edit = (name: string, text: string) => writeFile(path.join(folder.path, name), text)
    await edit('tidemark.yaml', `# Only a comment and another order.\n${before.split('\n').toReversed().join('\n')}`)
    expect(await source.editedKeys()).toEqual([])
    await edit('tidemark.yaml', 'queue: redis://user:second@queue\nreports: { events: { every: 2m, page_size: 10 } }')
    await edit('.env', 'TIDEMARK_CONSOLE_TOKEN=second')
    expect((await source.editedKeys()).toSorted()).toEqual([
      'TIDEMARK_CONSOLE_TOKEN',
      'currencies',
      'queue',
      'reports.events.every',
    ])
    await edit('tidemark.yaml', 'reports: { events: { evry: 2m } }')
    await expect(source.editedKeys()).rejects.toThrow(/evry/)
  })

  it('lets --config win over TIDEMARK_CONFIG, and that over tidemark.yaml', async () => {
    await using folder = await aFolder({
      'tidemark.yaml': 'queue: embedded',
      'a.yaml': 'console: { port: 1 }',
      'b.yaml': 'console: { port: 2 }',
    })
    const env = { ...REQUIRED_ENV, TIDEMARK_CONFIG: 'b.yaml' }
    expect((await loadConfig({ file: 'a.yaml', env, cwd: folder.path })).console.port).toBe(1)
    expect((await loadConfig({ env, cwd: folder.path })).console.port).toBe(2)
    expect((await loadConfig({ env: REQUIRED_ENV, cwd: folder.path })).console.port).toBe(7717)
  })

  it('lets the environment win over .env, and that over the file', async () => {
    await using folder = await aFolder({
      'tidemark.yaml': 'console: { port: 1 }\ncurrencies: [EUR]\ndefaults: { page_size: 1 }',
      '.env': 'TIDEMARK_CONSOLE_PORT=2\nTIDEMARK_CURRENCIES=USD\nREPORTING_CLIENT_SECRET_FILE=/nowhere',
    })
    const config = await loadConfig({ env: { ...REQUIRED_ENV, TIDEMARK_CONSOLE_PORT: '3' }, cwd: folder.path })
    expect([config.console.port, config.currencies, config.reports.events.pageSize]).toEqual([3, ['USD'], 1])
    expect(config.service.clientSecret.reveal()).toBe(SECRET_TEXT)
  })

  it('takes every variable of the contract', async () => {
    const { service, ...config } = await configOf({
      env: {
        REPORTING_SCOPES: 'event.read, enquiries.read',
        TIDEMARK_WAREHOUSE: '/w/w.duckdb',
        TIDEMARK_QUEUE_URL: 'rediss://queue:6379',
        TIDEMARK_CONSOLE_PORT: '0',
        TIDEMARK_CONSOLE_TOKEN: 'let-me-in',
        TIDEMARK_CURRENCIES: 'EUR USD',
        TIDEMARK_EVERY: '1h',
        TIDEMARK_PAGE_SIZE: '50',
        TIDEMARK_OVERLAP: '1.5h',
        TIDEMARK_SETTLE: '0s',
        TIDEMARK_START: '2024-02-29',
        TIDEMARK_REPORTS: 'events,budgets',
      },
    })
    expect(service.scopes).toEqual(['event.read', 'enquiries.read'])
    expect([config.warehouse, config.published]).toEqual(['/w/w.duckdb', '/w/published.duckdb'])
    expect([config.queue, config.console.port, config.currencies]).toEqual(['rediss://queue:6379', 0, ['EUR', 'USD']])
    expect(config.console.token?.reveal()).toBe('let-me-in')
    const { events } = config.reports
    expect(events).toMatchObject({ every: '1h', everyMs: 3_600_000, pageSize: 50, overlapMs: 5_400_000, settleMs: 0 })
    expect(formatInstant(events.start)).toBe('2024-02-29T00:00:00.000000Z')
  })

  it('takes a lake in a section of the warehouse as it takes the single settings', async () => {
    const more = ', extensions: ./duckdb'
    const section =
      'warehouse: { lake: "postgres://db/lake", data: "s3://bucket/lake", endpoint: "http://minio:9000", region: eu }'
    const single =
      'warehouse: "ducklake:postgres:postgres://db/lake", lake_data: "s3://bucket/lake", lake_endpoint: "http://minio:9000", lake_region: eu'
    await using folder = await aFolder({ 'a.yaml': `{ ${section}${more} }`, 'b.yaml': `{ ${single}${more} }` })
    const env = { ...REQUIRED_ENV, AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' }
    const [a, b] = await Promise.all(['a.yaml', 'b.yaml'].map((file) => loadConfig({ file, env, cwd: folder.path })))
    expect(a?.lake).toEqual(b?.lake)
    expect(a?.lake).toMatchObject({ at: 'postgres://db/lake', data: 's3://bucket/lake/', storage: { region: 'eu' } })
  })

  it('gives loads into a lake twice the memory, unless the setting is there', async () => {
    const lake = 'warehouse: "ducklake:sqlite:lake.db"\nextensions: ./duckdb\n'
    expect((await configOf({ yaml: lake })).limits.warehouseMemory).toBe('256MB')
    const set = await configOf({ yaml: `${lake}limits: { warehouse_memory: 128MB }` })
    expect(set.limits.warehouseMemory).toBe('128MB')
  })

  it('takes a section without keys, and a file without settings, as left out', async () => {
    const config = await configOf({ yaml: 'reports:\n  events:\n  # enabled: false\nlimits:\n' })
    expect(config.reports.events.enabled).toBe(true)
    expect(config.limits).toEqual({
      loadRowsMax: 200_000,
      loadBytesMax: 512 * 2 ** 20,
      pageBytesMax: 128 * 2 ** 20,
      walkPagesMax: 100_000,
      walkAttemptsMax: 4,
      warehouseMemory: '128MB',
      queryMemory: '1GB',
      queryDisk: '10GB',
      queryTimeMs: 1_800_000,
    })
    expect((await configOf({ yaml: '# nothing yet\n' })).console.port).toBe(7717)
  })
})

describe('reports', () => {
  it('is on with everything that its declaration has, unless told otherwise', async () => {
    const { reports } = await configOf({ yaml: 'currencies: [EUR]' })
    expect(reports.budgets).toMatchObject({
      enabled: true,
      every: '5m',
      everyMs: 300_000,
      pageSize: 500,
      overlapMs: 600_000,
      settleMs: 30_000,
      expand: ['costItems', 'taxes', 'currencies'],
      filters: {},
      askCreated: false,
      entities: [],
    })
    expect(reports.enquiries.askCreated).toBe(true)
  })

  it('has the reason why it is off, the operator’s own decision first', async () => {
    const yaml = 'reports: { merf_submissions: { enabled: false }, budgets: { enabled: false } }'
    const { reports } = await configOf({ yaml })
    const reasons = Object.values(reports).map((report) => [report.name, report.offReason])
    expect(Object.fromEntries(reasons)).toMatchObject({
      events: undefined,
      budgets: 'enabled: false',
      enquiries: undefined,
      automated_bookings: 'no currencies are configured',
      office_reservations: undefined,
      merf_submissions: 'enabled: false',
      audit_entries: 'no entities are configured',
      enquiry_audit_entries: undefined,
    })
    const limited = await configOf({ yaml, env: { TIDEMARK_REPORTS: 'events,budgets' } })
    expect(limited.reports.enquiries).toMatchObject({ enabled: false, offReason: 'not in TIDEMARK_REPORTS' })
    expect(limited.reports.budgets.offReason).toBe('enabled: false')
  })

  it('takes its own settings before the defaults, and a subset of flags in the declaration’s order', async () => {
    const { reports } = await configOf({
      yaml: `
defaults: { every: 1h, page_size: 100 }
reports:
  events: { every: "0 */2 * * *", expand: [assignments, meetingRooms], filters: { companyId: 7 } }
  enquiries: { page_size: 10000, expand: [], ask_created: false, filters: { status: [1, 2], startDate: 2024-01-01 } }
  audit_entries: { entities: [{ entity_id: 3, follows: events }] }`,
    })
    expect(reports.events).toMatchObject({
      every: '0 */2 * * *',
      pageSize: 100,
      expand: ['meetingRooms', 'assignments'],
      filters: { companyId: 7 },
    })
    expect(reports.events).not.toHaveProperty('everyMs')
    expect(reports.enquiries).toMatchObject({ everyMs: 3_600_000, pageSize: 10_000, expand: [], askCreated: false })
    expect(reports.enquiries.filters).toEqual({ status: [1, 2], startDate: '2024-01-01T00:00:00.000000Z' })
    expect(reports.audit_entries).toMatchObject({ enabled: true, entities: [{ entityId: 3, follows: 'events' }] })
  })

  it('reads currencies in small letters, an empty filter as none, and dates and long integers as the service reads them', async () => {
    const { currencies, reports } = await configOf({
      yaml: `
currencies: [eur, Usd]
reports:
  enquiries: { filters: { status: [], startDate: 2020-01-01, endDate: '2020-06-30T23:00:00+02:00' } }
  office_reservations: { filters: { status: [2, 9007199254740993], officeReservationId: -9007199254740993 } }
  audit_entries: { entities: [{ entity_id: 9007199254740993, follows: events }] }`,
    })
    expect(currencies).toEqual(['EUR', 'USD'])
    const dates = { startDate: '2020-01-01T00:00:00.000000Z', endDate: '2020-06-30T21:00:00.000000Z' }
    expect(reports.enquiries.filters).toEqual(dates)
    const { filters } = reports.office_reservations
    expect(filters).toEqual({ status: [2, '9007199254740993'], officeReservationId: '-9007199254740993' })
    const body = bodyOf(officeReservations, { expand: [], filters }, { number: 1, size: 10 })
    expect(JSON.stringify(body)).toContain('"status":[2,9007199254740993],"officeReservationId":-9007199254740993')
  })
})

describe('the value', () => {
  it('is frozen through and through', async () => {
    const config = await configOf({ yaml: 'reports: { events: { filters: { companyId: 7 } } }' })
    const parts = [config, config.service, config.reports.events, config.reports.events.filters, config.currencies]
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true)
  })

  it('prints no secret', async () => {
    const config = await configOf({ env: { TIDEMARK_CONSOLE_TOKEN: 'let-me-in' } })
    const { inspect } = await import('node:util')
    const printed =
      JSON.stringify(config) + inspect(config, { depth: 9, showHidden: true }) + String(config.service.clientSecret)
    expect(printed).not.toContain(SECRET_TEXT)
    expect(printed).not.toContain('let-me-in')
  })
})
