/** The settings of receivers: what is taken, and what is refused before anything starts. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { SIGNING_SECRET } from '../operate/receiver.ts'
import { aFolder, configOf, problemsOf, REQUIRED_ENV } from './folder.ts'

const SECRET = { TIDEMARK_NOTIFY_SECRET: SIGNING_SECRET }
const SLACK = 'https://hooks.slack.com/services/T0/B0/marked-notices-slack'

describe('notify', () => {
  it('is nobody without a webhook, whatever else is set', async () => {
    expect((await configOf({ yaml: 'notify: { lag: 2h }', env: SECRET })).notify).toBeUndefined()
  })

  it('takes https anywhere and http on this machine, and hides its secret', async () => {
    for (const webhook of ['https://hooks.example.com/a?b=c', 'http://127.0.0.1:8080/x', 'http://localhost/x']) {
      const { notify } = await configOf({
        yaml: `notify: { webhook: "${webhook}", lag: 2h, failures: 5 }`,
        env: SECRET,
      })
      expect(notify).toMatchObject({ lagMs: 7_200_000, failures: 5 })
      const [receiver] = notify?.receivers ?? []
      expect(receiver).toMatchObject({ name: 'notify.webhook', takes: 'notices', format: 'plain' })
      expect(receiver?.webhook?.href).toBe(webhook)
      expect(JSON.stringify(notify)).not.toContain('whsec_')
      expect(receiver?.secret.reveal()).toBe(SIGNING_SECRET)
    }
  })

  it('takes several receivers, each with a secret from its variable or from a file', async () => {
    await using folder = await aFolder({
      'tidemark.yaml': `
notify:
  notices:
    ops: { format: slack }
    oncall: { format: pagerduty, secret_file: pagerduty }
  data:
    pipeline: { webhook: "https://jobs.example.com/new", reports: [events] }
    extracts: { webhook: "https://extracts.example.com" }
`,
    })
    await writeFile(path.join(folder.path, 'pagerduty'), 'marked-integration-key-012345678\n')
    await writeFile(path.join(folder.path, 'extracts'), `${SIGNING_SECRET}\n`)
    const env = {
      ...REQUIRED_ENV,
      TIDEMARK_NOTIFY_OPS_SECRET: SLACK,
      TIDEMARK_NOTIFY_PIPELINE_SECRET: SIGNING_SECRET,
      TIDEMARK_NOTIFY_EXTRACTS_SECRET_FILE: 'extracts',
    }
    const { notify, source } = await loadConfig({ env, cwd: folder.path })
    const receivers = notify?.receivers ?? []
    expect(receivers.map(({ name, takes, format }) => `${name} ${takes} ${format}`)).toEqual([
      'notify.notices.ops notices slack',
      'notify.notices.oncall notices pagerduty',
      'notify.data.pipeline data plain',
      'notify.data.extracts data plain',
    ])
    expect(receivers.map(({ webhook }) => webhook?.host)).toEqual([
      undefined,
      'events.pagerduty.com',
      'jobs.example.com',
      'extracts.example.com',
    ])
    expect(receivers.map(({ secret }) => secret.reveal())).toEqual([
      SLACK,
      'marked-integration-key-012345678',
      SIGNING_SECRET,
      SIGNING_SECRET,
    ])
    expect(receivers[2]?.reports).toEqual(['events'])
    expect(source.env).toContain('TIDEMARK_NOTIFY_EXTRACTS_SECRET_FILE')
    expect(source.misspellings ?? []).toEqual([])
  })

  const DATA = 'notify: { data: { a: { webhook: "https://hooks.example.com" } } }'
  it.each([
    ['notify: { webhook: "http://hooks.example.com" }', SECRET, 'must begin with https://'],
    ['notify: { webhook: "https://a:b@hooks.example.com" }', SECRET, 'must not contain a user name'],
    [
      'notify: { webhook: "https://hooks.example.com" }',
      {},
      'set TIDEMARK_NOTIFY_SECRET, TIDEMARK_NOTIFY_SECRET_FILE or notify.secret_file',
    ],
    [
      'notify: { webhook: "https://hooks.example.com" }',
      { TIDEMARK_NOTIFY_SECRET: 'sixteen or more characters' },
      'TIDEMARK_NOTIFY_SECRET the secret of notify must be whsec_ and a key in Base64',
    ],
    [
      'notify: { webhook: "https://hooks.example.com" }',
      { TIDEMARK_NOTIFY_SECRET: 'whsec_c2hvcnQ=' },
      'must be whsec_ and a key in Base64',
    ],
    ['notify: { webhook: "https://hooks.example.com", secret: x }', SECRET, 'secret'],
    ['notify: { webhook: "https://hooks.example.com", lag: soon }', SECRET, 'must be a duration'],
    [DATA, {}, 'notify.data.a: the secret is missing; it must be whsec_'],
    [DATA, { TIDEMARK_NOTIFY_A_SECRET: 'x', TIDEMARK_NOTIFY_A_SECRET_FILE: 'y' }, 'keep one of the two'],
    [DATA, { TIDEMARK_NOTIFY_A_SECRET_FILE: 'missing' }, 'cannot be read (ENOENT)'],
    ['notify: { data: { a: {} } }', {}, 'notify.data.a: webhook is missing'],
    ['notify: { data: { A: {} } }', {}, 'must name its receivers with small letters'],
    ['notify: { data: { a: { webhook: "https://x", reports: [event] } } }', {}, 'reports'],
    ['notify: { data: { a: { format: teams } } }', {}, 'format'],
    ['notify: { data: { a: { format: pagerduty } } }', {}, 'notify.data.a.format'],
    ['notify: { notices: { a: { format: slack } } }', {}, 'must be the address of the Slack webhook: set TIDEMARK_'],
    [
      'notify: { notices: { a: { format: slack } } }',
      { TIDEMARK_NOTIFY_A_SECRET: 'xoxb-1' },
      'must be the address of the Slack webhook',
    ],
    [
      'notify: { format: pagerduty }',
      { TIDEMARK_NOTIFY_SECRET: 'short' },
      'must be the integration key of a PagerDuty service',
    ],
    [`notify: { data: { ${'abcdefghijk'.replaceAll(/./g, '$&: {},')} } }`, {}, 'at most 10 receivers'],
  ])('refuses %s with %j', async (yaml, env, problem) => {
    const problems = (await problemsOf({ yaml, env })).join('\n')
    expect(problems).toContain(problem)
    expect(problems).not.toContain('hooks.example.com/')
  })
})
