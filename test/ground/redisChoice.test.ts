/** Where the tests' Redis comes from: the order of choices, and that none of them is to skip. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chooseRedis, type Machine } from '../support/redisChoice.ts'

const BARE: Machine = { redisUrl: undefined, server: undefined, hasDockerEngine: false, mayInstall: false }
const ALL: Machine = {
  redisUrl: 'redis://given:6379',
  server: '/usr/bin/redis-server',
  hasDockerEngine: true,
  mayInstall: true,
}

describe("the tests' Redis", () => {
  it('is the one that is given, else one on the PATH, else one in a container, else one that is installed', () => {
    expect(chooseRedis(ALL)).toEqual({ way: 'given', url: 'redis://given:6379' })
    expect(chooseRedis({ ...ALL, redisUrl: undefined })).toEqual({ way: 'spawn', server: '/usr/bin/redis-server' })
    expect(chooseRedis({ ...ALL, redisUrl: undefined, server: undefined })).toEqual({ way: 'container' })
    expect(chooseRedis({ ...BARE, mayInstall: true })).toEqual({ way: 'install' })
  })

  it('takes an empty REDIS_URL as none', () => {
    expect(chooseRedis({ ...ALL, redisUrl: '' }).way).toBe('spawn')
  })

  it('is missing only where no other way is left, and then the error has the command that installs it', () => {
    const machines = fc.record({
      redisUrl: fc.option(fc.constant('redis://x'), { nil: undefined }),
      server: fc.option(fc.constant('/bin/redis-server'), { nil: undefined }),
      hasDockerEngine: fc.boolean(),
      mayInstall: fc.boolean(),
    })
    fc.assert(
      fc.property(machines, (machine) => {
        const has = machine.redisUrl !== undefined || machine.server !== undefined
        const choice = chooseRedis(machine)
        expect(choice.way === 'none').toBe(!has && !machine.hasDockerEngine && !machine.mayInstall)
        if (choice.way === 'none') expect(choice.message).toMatch(/^[^\n]*install redis[^\n]*$/)
      }),
    )
  })
})
