/** `tidemark health`: the sign of life of a worker, as a container or a service manager asks for it. */
import { describe, expect, it } from 'vitest'
import { aWorkshop, hasSaid, OWNS, stop, until } from './support.ts'

describe('tidemark health', () => {
  it('ends with 0 while a worker of this warehouse lives, owner or puller, and with 1 when none does', async () => {
    await using workshop = await aWorkshop({ store: 'redis' })
    expect((await workshop.run('health')).code).toBe(1)
    const owner = workshop.worker()
    await until(() => hasSaid(owner, OWNS))
    const alive = await workshop.run('health')
    expect([alive.code, alive.stdout]).toEqual([0, expect.stringContaining('a worker last showed that it lives')])
    await stop(owner)
    expect((await workshop.run('health')).code).toBe(1)
  })
})
