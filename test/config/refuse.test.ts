/** What is refused, where the error says it stands, and what it suggests. */
import path from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { WORLD_REPORTS } from '../../src/sandbox/reports/index.ts'
import { ROOT } from '../rules/source.ts'
import { aFolder, configOf, problemsOf, refusalOf, REQUIRED_ENV, SECRET_TEXT } from './folder.ts'

describe('the error', () => {
  it('lists all problems at once, each with its line or variable', async () => {
    const yaml = `service:
  concurency: 8
queue: kafka://x
reports:
  evnts: { enabled: true }
  budgets:
    expand: [costItems, tax]
    page_size: 0
`
    const env = { TIDEMARK_EVERY: 'often', TIDEMARK_REPORTS: 'events,budget', TIDEMARK_PAGE_SIZE: 'many' }
    const error = await refusalOf(configOf({ yaml, env }))
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.cure).toBe(
      `Correct what is named above, then run "tidemark check". ${path.join(ROOT, 'tidemark.example.yaml')} shows every key.`,
    )
    expect(error.isUsage).toBe(true)
    expect(error.message).toBe(`the configuration has 8 problems:
  tidemark.yaml:2  service.concurency is not a setting; did you mean "concurrency"?
  tidemark.yaml:3  queue must be embedded, redis://…, rediss://… or postgres://…
  tidemark.yaml:5  there is no report "evnts"; did you mean "events"?
  tidemark.yaml:7  reports.budgets.expand[1] must be one of costItems, taxes, currencies
  tidemark.yaml:8  reports.budgets.page_size must be at least 1
  TIDEMARK_EVERY  defaults.every must be a duration such as 500ms, 30s, 5m, 2h or 1d, or a cron line of five or six fields
  TIDEMARK_PAGE_SIZE  defaults.page_size must be a whole number
  TIDEMARK_REPORTS  there is no report "budget"; did you mean "budgets"?`)
  })

  it('names what is missing, and both ways to set it', async () => {
    await using folder = await aFolder()
    const { message } = await refusalOf(loadConfig({ env: {}, cwd: folder.path }))
    expect(message).toBe(`there is no tidemark.yaml in ${folder.path}, and without one the configuration has 3 problems:
  REPORTING_BASE_URL  service.base_url is missing: set it, or REPORTING_BASE_URL
  REPORTING_CLIENT_ID  service.client_id is missing: set it, or REPORTING_CLIENT_ID
  REPORTING_CLIENT_SECRET  the client secret is missing: set REPORTING_CLIENT_SECRET, REPORTING_CLIENT_SECRET_FILE or service.client_secret_file`)
  })

  it('names a requested file that does not exist', async () => {
    await using folder = await aFolder()
    const given = { env: { ...REQUIRED_ENV, TIDEMARK_CONFIG: 'gone.yaml' }, cwd: folder.path }
    expect((await refusalOf(loadConfig(given))).message).toContain('TIDEMARK_CONFIG  gone.yaml: there is no such file')
    const named = await refusalOf(loadConfig({ ...given, file: 'mine.yaml' }))
    expect(named.message).toContain('mine.yaml  there is no such file')
  })
})

describe('YAML', () => {
  it.each([
    ['a: [1, 2\nb: 3', /^tidemark\.yaml:\d /],
    ['queue: embedded\nqueue: embedded', 'tidemark.yaml:2 a key is there twice'],
    ['- queue', 'tidemark.yaml:1 the configuration must be a section of keys'],
    ['service: acme', 'tidemark.yaml:1 service must be a section of keys'],
    ['service:\n  - acme', 'tidemark.yaml:1 service must be a section of keys'],
    ['queue: *nothing', 'tidemark.yaml:1 an alias (*name) is not known, or aliases are nested too deeply'],
    ['queue: !env QUEUE', 'tidemark.yaml:1 tags (!name) are not supported'],
    [
      'queue: redis://q/main',
      expect.stringContaining('queue must end with the number of a database, such as redis://'),
    ],
    ['queue: redis://q/1/2', expect.stringContaining('queue must end with the number of a database')],
    ['queue: redis://u:p%zz@q', 'tidemark.yaml:1 queue must contain %25 in place of %'],
  ])('refuses %j with its line', async (yaml, expected) => {
    expect(await problemsOf({ yaml })).toContainEqual(
      expected instanceof RegExp ? expect.stringMatching(expected) : expected,
    )
  })
})

describe('secrets', () => {
  it.each([
    `service: { client_secret: ${SECRET_TEXT} }`,
    `service:\n  client_secret: !${SECRET_TEXT}`,
    `service:\n  client_secret: "${SECRET_TEXT}\\z"`,
    `service:\n  client_secret: |${SECRET_TEXT}`,
    `service:\n  client_secret: a\n ${SECRET_TEXT}`,
    `service:\n  client_secret: [${SECRET_TEXT}`,
    `service:\n  client_secret: *${SECRET_TEXT}`,
    `client_secret: ${SECRET_TEXT}`,
    `console: { token: ${SECRET_TEXT} }`,
    `service: { base_url: "https://acme:${SECRET_TEXT}@reports.example.com" }`,
    `queue: kafka://acme:${SECRET_TEXT}@queue`,
  ])('refuses %j without showing it', async (yaml) => {
    await using folder = await aFolder({ 'tidemark.yaml': yaml })
    const error = await refusalOf(loadConfig({ env: { REPORTING_CLIENT_SECRET: 'x' }, cwd: folder.path }))
    expect(JSON.stringify(error) + inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET_TEXT)
    expect(error.message).toMatch(/tidemark\.yaml:\d/)
  })

  it('names the place for a secret', async () => {
    expect(await problemsOf({ yaml: 'service:\n  client_secret: abc' })).toEqual([
      expect.stringMatching(/^tidemark.yaml:2 service.client_secret is refused: secrets do not belong in this file/),
    ])
  })

  it('wants the secret from one place, in a file that can be read and is not empty', async () => {
    await using folder = await aFolder({ 'empty.txt': '\n' })
    const empty = path.join(folder.path, 'empty.txt')
    const withoutSecret = { REPORTING_CLIENT_SECRET: '' }
    expect(await problemsOf({ env: { REPORTING_CLIENT_SECRET_FILE: empty } })).toEqual([
      'REPORTING_CLIENT_SECRET REPORTING_CLIENT_SECRET_FILE is set too: keep one of the two',
    ])
    expect(await problemsOf({ env: { ...withoutSecret, REPORTING_CLIENT_SECRET_FILE: empty } })).toEqual([
      'REPORTING_CLIENT_SECRET_FILE the file with the client secret is empty',
    ])
    expect(await problemsOf({ env: withoutSecret, yaml: 'service:\n  client_secret_file: gone' })).toEqual([
      'tidemark.yaml:2 the file with the client secret cannot be read (ENOENT)',
    ])
  })
})

describe('base_url', () => {
  it.each([
    'https://reports.example.com',
    'https://reports.example.com:8443/prefix/',
    'http://localhost:8080',
    'http://127.0.0.9:1',
    'http://[::1]:8080/',
  ])('takes %s', async (url) => {
    expect((await configOf({ env: { REPORTING_BASE_URL: url } })).service.baseUrl.href).toBe(new URL(url).href)
  })

  it.each([
    'reports.example.com',
    'http://reports.example.com',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    'ftp://localhost',
    'https://a:b@reports.example.com',
    'https://reports.example.com/?a=1',
    'https://reports.example.com/#a',
  ])('refuses %s', async (url) => {
    expect(await problemsOf({ env: { REPORTING_BASE_URL: url } })).toEqual([
      expect.stringMatching(/^REPORTING_BASE_URL service\.base_url must/),
    ])
  })
})

describe('settings of a report', () => {
  it.each([
    [
      'events: { filters: { company: 7 } }',
      'reports.events.filters.company is not a setting; did you mean "companyId"?',
    ],
    ['events: { filters: { companyId: "7" } }', 'reports.events.filters.companyId must be a whole number'],
    ['events: { filters: { companyId: 7.5 } }', 'reports.events.filters.companyId must be a whole number'],
    [
      'budgets: { filters: { onlyDefaultBudget: 1 } }',
      'reports.budgets.filters.onlyDefaultBudget must be true or false',
    ],
    ['enquiries: { filters: { status: 1 } }', 'reports.enquiries.filters.status must be a list such as [a, b]'],
    ['enquiries: { filters: { status: [one] } }', 'reports.enquiries.filters.status[0] must be a whole number'],
    ['enquiries: { filters: { bookerName: 1 } }', 'reports.enquiries.filters.bookerName must be text'],
    [
      'enquiries: { filters: { startDate: 2024-02-30 } }',
      'reports.enquiries.filters.startDate must be a date or date-time such as 2000-01-01T00:00:00Z',
    ],
    ['events: { settle: -1s }', 'reports.events.settle must be a duration such as 500ms, 30s, 5m, 2h or 1d'],
    ['events: { every: 500ms }', 'reports.events.every must be at least 1s'],
    ['events: { every: "0 25 * * *" }', 'reports.events.every is no cron line: "25" is no hour (0-23)'],
    [
      'events: { every: "*/61 * * * *" }',
      'reports.events.every cannot step further than its minute (0-59) in "*/61": write a duration such as 90m',
    ],
    [
      'events: { reconcile_every: "30 5,6/25 * * *" }',
      'reports.events.reconcile_every cannot step further than its hour (0-23) in "6/25": write a duration such as 90m',
    ],
    ['events: { time_zone: Mars/Olympus }', 'reports.events.time_zone must be a time zone such as UTC or Europe/Paris'],
    [
      'events: { reconcile_every: sometimes }',
      'reports.events.reconcile_every must be a duration such as 500ms, 30s, 5m, 2h or 1d, or a cron line of five or six fields',
    ],
    ['events: { every: 25d }', 'reports.events.every must be at most 24d; write a cron line for anything rarer'],
    ['events: { page_size: 10001 }', 'reports.events.page_size must be at most 10000'],
    ['events: { pageSize: 10 }', 'reports.events.pageSize is not a setting; did you mean "page_size"?'],
    [
      'audit_entries: { entities: [{ entity_id: 1, follows: enquiry_audit_entries }] }',
      `reports.audit_entries.entities[0].follows must be one of ${WORLD_REPORTS.join(', ')}`,
    ],
    [
      'audit_entries: { entities: [{ entity_id: 1, follows: events }, { entity_id: 1, follows: budgets }] }',
      'reports.audit_entries.entities[1] 1 is listed twice',
    ],
  ])('refuses %s', async (report, problem) => {
    expect(await problemsOf({ yaml: `reports:\n  ${report}` })).toEqual([`tidemark.yaml:2 ${problem}`])
  })

  it('knows entities only where records are audited', async () => {
    const [problem] = await problemsOf({ yaml: 'reports:\n  events: { entities: [] }' })
    expect(problem).toMatch(/reports\.events\.entities is not a setting/)
  })
})

describe('other settings', () => {
  it.each([
    ['currencies: [euro]', 'currencies[0] must be an ISO 4217 code of three letters such as EUR'],
    ['currencies: [EUR, eur]', 'currencies[1] EUR is listed twice'],
    ['currencies: EUR', 'currencies must be a list such as [a, b]'],
    ['console: { port: 70000 }', 'console.port must be at most 65535'],
    ['warehouse: md:mine', expect.stringContaining('warehouse cannot be MotherDuck')],
    ['warehouse: s3://bucket/warehouse.duckdb', expect.stringContaining('warehouse must be the path of a DuckDB file')],
    ['published: s3://bucket/copy.duckdb', expect.stringContaining('published must be the path of a DuckDB file')],
    [
      'warehouse: "ducklake:mysql:db"',
      'warehouse must be ducklake:sqlite:FILE or ducklake:postgres:CONNECTION, no other catalogue',
    ],
    [
      'warehouse: "ducklake:sqlite:lake.db"',
      expect.stringContaining("warehouse needs DuckDB's ducklake and sqlite_scanner: set extensions"),
    ],
    [
      '{ warehouse: "ducklake:postgres:host=db", extensions: ./duckdb }',
      'lake_data is missing: a lake in PostgreSQL needs a directory for its files',
    ],
    [
      '{ warehouse: "ducklake:sqlite:lake.db", extensions: ./duckdb, queue: "redis://h" }',
      'queue must be embedded: only a lake in PostgreSQL takes several workers, which share a queue',
    ],
    ['lake_data: ./files', 'lake_data is for a lake (warehouse: ducklake:…)'],
    ['{ lake_data: "gs://bucket" }', expect.stringContaining('lake_data must be a directory, or s3://BUCKET/PATH')],
    ['{ lake_data: "s3://bucket/a*b" }', expect.stringContaining('lake_data must be a directory, or s3://BUCKET/PATH')],
    ['lake_endpoint: https://minio/path', expect.stringContaining('lake_endpoint must be an address such as')],
    ['lake_region: eu-west-1', expect.stringContaining('lake_region is for object storage: set lake_data')],
    ['serve: quack://127.0.0.1:9494', expect.stringContaining("serve needs DuckDB's quack and httpfs: set extensions")],
    ['serve: http://127.0.0.1:9494', 'serve must be quack://HOST:PORT, such as quack://127.0.0.1:9494'],
    ['serve: quack://127.0.0.1:99999', 'serve must be quack://HOST:PORT, such as quack://127.0.0.1:9494'],
    [
      '{ serve: "quack://0.0.0.0:9494", extensions: ./duckdb }',
      expect.stringContaining('serve beyond this machine needs a token: set TIDEMARK_SERVE_TOKEN'),
    ],
    ['published: ./data/warehouse.duckdb', 'published must be another file than warehouse'],
    [
      'warehouse: ./Tidemark.duckdb',
      'warehouse has the name of a schema, which DuckDB could not tell from the file: choose another name',
    ],
    [
      'published: ./data/current.duckdb',
      'published has the name of a schema, which DuckDB could not tell from the file: choose another name',
    ],
    ['limits: { load_bytes_max: big }', 'limits.load_bytes_max must be a size such as 256MB, 1GiB or 1048576'],
    ['limits: { page_bytes_max: 0MB }', 'limits.page_bytes_max must be at least 1B'],
    ['history: 0d', 'history must be at least 1d'],
    ['history: 23h', 'history must be at least 1d'],
    ['rejected_keep: 23h', 'rejected_keep must be at least 1d'],
    ['notify: { lag: 0s }', 'notify.lag must be more than 0s, such as 1h'],
    ['limits: { warehouse_memory: 80% }', 'limits.warehouse_memory must be a size such as 1GB'],
    ['service: { requests_per_second: 0 }', 'service.requests_per_second must be at least 0.01'],
    ['service: { requests_per_second: 0.0001 }', 'service.requests_per_second must be at least 0.01'],
    ['archive: true', expect.stringContaining('archive is not a setting; known are service, warehouse')],
  ])('refuses %s', async (yaml, problem) => {
    const problems = await problemsOf({ yaml })
    expect(problems.map((each) => each.replace('tidemark.yaml:1 ', ''))).toEqual([problem])
  })

  it('names the line of a setting in a section of the warehouse', async () => {
    const yaml =
      'warehouse:\n  lake: postgres://db/lake\n  data: gs://bucket\n  endpoint: https://minio/path\nextensions: ./duckdb'
    expect(await problemsOf({ yaml })).toEqual([
      expect.stringMatching(/^tidemark.yaml:3 lake_data must be a directory, or s3/),
      expect.stringMatching(/^tidemark.yaml:4 lake_endpoint must be an address/),
    ])
    const twice = '{ lake_data: ./b, warehouse: { lake: "postgres://db/lake", data: ./a }, extensions: ./duckdb }'
    expect(await problemsOf({ yaml: twice })).toEqual([expect.stringContaining('warehouse.data is not a setting')])
  })

  it('asks for the access key of a lake in object storage, and for httpfs', async () => {
    const yaml = '{ warehouse: "ducklake:sqlite:lake.db", lake_data: "s3://bucket/lake" }'
    expect(await problemsOf({ yaml })).toEqual([
      expect.stringContaining("warehouse needs DuckDB's httpfs, ducklake and sqlite_scanner"),
      'AWS_ACCESS_KEY_ID lake_data needs an access key: set AWS_ACCESS_KEY_ID or AWS_ACCESS_KEY_ID_FILE',
      'AWS_SECRET_ACCESS_KEY lake_data needs an access key: set AWS_SECRET_ACCESS_KEY or AWS_SECRET_ACCESS_KEY_FILE',
    ])
  })
})
