/** What reaches the log's output, and what never does. */
import { describe, expect, it } from 'vitest'
import { createLog, type LogLevel } from '../../src/log.ts'
import { SyncError } from '../../src/errors.ts'
import { Secret } from '../../src/secret.ts'

const SECRET_TEXT = 'p"w\\d/ä+ %\n1'

function listening(level: LogLevel, pretty: boolean) {
  let output = ''
  const destination = { write: (text: string) => (output += text) }
  const log = createLog({ level, pretty, destination })
  return { log, output: () => output }
}

function outputOf(pretty: boolean): string {
  const { log, output } = listening('trace', pretty)
  log.guard(new Secret(SECRET_TEXT))
  const cause = new TypeError(`cause: ${SECRET_TEXT}`)
  const middle = new SyncError('UNEXPECTED', `middle: ${SECRET_TEXT}`, {
    cure: SECRET_TEXT,
    data: { SECRET_TEXT },
    cause,
  })
  const outer = new AggregateError([middle], `outer: ${SECRET_TEXT}`, { cause: middle })
  log.trace({ [SECRET_TEXT]: { deep: [{ deeper: SECRET_TEXT }] } }, `plain ${SECRET_TEXT}`)
  log.child({ run: SECRET_TEXT }).debug({ err: outer, error: middle, other: outer }, 'nested errors')
  log.info({ body: JSON.stringify({ client_secret: SECRET_TEXT }) }, 'JSON inside text')
  log.warn(`form ${new URLSearchParams({ s: SECRET_TEXT }).toString()} address ${encodeURIComponent(SECRET_TEXT)}`)
  log.error({ basic: Buffer.from(SECRET_TEXT).toString('base64') }, 'base64')
  return output()
}

describe.each([
  ['JSON', false],
  ['pretty', true],
])('%s', (_, pretty) => {
  it('never shows a guarded secret, at no level and in no encoding, also not inside nested errors', () => {
    const output = outputOf(pretty)
    const forms = [
      SECRET_TEXT,
      SECRET_TEXT.replace('\n', '\\n'),
      JSON.stringify(SECRET_TEXT).slice(1, -1),
      'p\\\\\\"w',
      encodeURIComponent(SECRET_TEXT),
      'p%22w',
      Buffer.from(SECRET_TEXT).toString('base64'),
    ]
    expect(forms.filter((form) => output.includes(form))).toEqual([])
    expect(output).toContain('nested errors')
    expect(output.match(/\[secret\]/g)?.length).toBeGreaterThan(8)
  })

  it('guards children that were there before the secret was known', () => {
    const { log, output } = listening('debug', pretty)
    const child = log.child({ run: 7 })
    log.guard(new Secret('late-secret'))
    child.info('it is late-secret')
    expect(output()).toContain('it is [secret]')
    expect(output()).toMatch(/"?run"?: ?7/)
  })
})

describe('fields', () => {
  it('masks those with telling names, and credentials in addresses', () => {
    const { log, output } = listening('info', false)
    log.info(
      { headers: { authorization: 'Bearer abc' }, service: { clientSecret: 'def' }, accessToken: 'ghi' },
      'asked',
    )
    log.info('queue rediss://user:jkl@queue:6379/0')
    log.child({ tries: [{ token: 'mno' }] }).info({ a: { b: { c: { d: { cookie: ['pqr'] } } } } }, 'answered')
    expect(output()).not.toMatch(/abc|def|ghi|jkl|mno|pqr/)
    expect(output().trim().split('\n')).toHaveLength(3)
    expect(output()).toContain('rediss://[secret]@queue:6379/0')
  })

  it('keeps an error’s code, cure and cause', () => {
    const { log, output } = listening('info', false)
    const cause = new TypeError('socket closed')
    log.error(
      { err: new SyncError('SERVICE_UNREACHABLE', 'no answer', { cure: 'Look at the network.', cause }) },
      'failed',
    )
    expect(JSON.parse(output())).toMatchObject({
      level: 50,
      msg: 'failed',
      err: { code: 'SERVICE_UNREACHABLE', cure: 'Look at the network.', cause: { message: 'socket closed' } },
    })
  })

  it('writes only what its level asks for', () => {
    const { log, output } = listening('warn', false)
    log.info('quiet')
    log.warn('loud')
    expect(output()).toContain('loud')
    expect(output()).not.toContain('quiet')
  })
})

const written = (level: LogLevel) => {
  const { log, output } = listening(level, true)
  log.info({ runId: 'run-7', pages: 1, rows: 3 }, 'events: 1 page, 3 rows in 0.1 s')
  log.warn({ runId: 'run-8', code: 'DISK_FULL', cure: 'Free some space.' }, 'events: failed: no space is left')
  return output()
}

describe('the log on a terminal', () => {
  it('has one line for a run, and for a failure what to do', () => {
    expect(written('info').split('\n')).toEqual([
      expect.stringMatching(/INFO: events: 1 page, 3 rows in 0.1 s$/),
      expect.stringMatching(/WARN: events: failed: no space is left$/),
      '    what to do: Free some space.',
      '',
    ])
  })

  it('has all fields at level debug', () => {
    expect(written('debug')).toMatch(/runId: "run-7"[^]*pages: 1[^]*code: "DISK_FULL"/)
  })
})
