/**
 * The console of a process that does not hold the warehouse: it reads the published copy and hands what is asked to the
 * owner.
 */
import { expect, it } from 'vitest'
import { aWorkshop, hasSaid, linesOf, OWNS, published, until } from '../jobs/support.ts'
import { knockAt, TOKEN } from './support.ts'

it('shows the published copy, acts through the owner, and only listens where the role says so', {
  tags: 'long',
  timeout: 300_000,
}, async () => {
  await using shop = await aWorkshop({ store: 'redis', env: { TIDEMARK_CONSOLE_TOKEN: TOKEN } })
  const owner = shop.worker('--roles', 'load,pull,schedule')
  const shown = shop.worker('--roles', 'console')
  await until(() => hasSaid(owner, OWNS) && hasSaid(shown, 'the console listens'))
  expect(hasSaid(owner, 'the console listens')).toBe(false)
  const { address } = linesOf(shown).find(({ msg }) => msg.includes('the console listens')) as unknown as {
    address: string
  }
  const ask = async (path: string, body?: object) => {
    const headers = { authorization: `Bearer ${TOKEN}`, ...(body && { 'content-type': 'application/json' }) }
    const knock = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
    const seen = await knockAt(address, path, knock)
    return { status: seen.status, said: JSON.parse(seen.body) as Record<string, unknown> }
  }
  await until(async () => (await published(shop, 'SELECT 1 FROM tidemark.runs')).length > 0)
  expect((await ask('/readyz')).status).toBe(200)
  const overview = await ask('/api/overview')
  expect(overview).toMatchObject({ status: 200, said: { owner: false } })
  expect((await ask('/api/pause', { reports: ['events'] })).status).toBeLessThan(203)
  await until(async () => {
    const { said } = await ask('/api/overview')
    return (said['reports'] as { report: string; state: string }[]).some(
      ({ report, state }) => report === 'events' && state === 'paused',
    )
  })
  const unknown = await ask('/api/cancel', { id: 'nobody' })
  expect(unknown).toMatchObject({ status: 400, said: { error: { code: 'USAGE_INVALID' } } })
})
