/** The clock of the system in a process of its own, because only that process shows what keeps it alive. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const CLOCK = JSON.stringify(new URL('../../src/clock.ts', import.meta.url).href)

async function printed(program: string): Promise<string> {
  const code = `import { repeat, systemClock, within } from ${CLOCK}; ${program}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
  return stdout.trim()
}

it('a process goes on after it has waited in vain for work with a time limit', async () => {
  const program = 'console.log(await within(20, systemClock, () => new Promise(() => undefined)), "went on")'
  expect(await printed(program)).toBe('undefined went on')
})

it('a process ends after work with a time limit has failed before it could wait', async () => {
  const program = `
    const work = () => { throw new Error('failed at once') }
    console.log(await within(3_600_000, systemClock, work).catch(({ message }) => message))`
  expect(await printed(program)).toBe('failed at once')
})

it('a process ends although it repeats an action, or although a time limit is not over', async () => {
  const program = `
    repeat(3_600_000, systemClock, () => undefined)
    console.log(await within(3_600_000, systemClock, async () => 'done'))`
  expect(await printed(program)).toBe('done')
})
