/** The settings of notices: what is taken, and what is refused before anything starts. */
import { describe, expect, it } from 'vitest'
import { configOf, problemsOf } from './folder.ts'

const SECRET = { TIDEMARK_NOTIFY_SECRET: 'marked-notices-secret' }

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
      expect(notify?.webhook.href).toBe(webhook)
      expect(notify).toMatchObject({ lagMs: 7_200_000, failures: 5 })
      expect(JSON.stringify(notify)).not.toContain('marked-notices')
      expect(notify?.secret.reveal()).toBe('marked-notices-secret')
    }
  })

  it.each([
    ['notify: { webhook: "http://hooks.example.com" }', SECRET, 'must begin with https://'],
    ['notify: { webhook: "https://a:b@hooks.example.com" }', SECRET, 'must not contain a user name'],
    ['notify: { webhook: "https://hooks.example.com" }', {}, 'notices are signed: set TIDEMARK_NOTIFY_SECRET'],
    [
      'notify: { webhook: "https://hooks.example.com" }',
      { TIDEMARK_NOTIFY_SECRET: 'short' },
      'must have at least 16 characters',
    ],
    ['notify: { webhook: "https://hooks.example.com", secret: x }', SECRET, 'secret'],
    ['notify: { webhook: "https://hooks.example.com", lag: soon }', SECRET, 'must be a duration'],
  ])('refuses %s with %j', async (yaml, env, problem) => {
    expect((await problemsOf({ yaml, env })).join('\n')).toContain(problem)
  })
})
