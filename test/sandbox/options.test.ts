/** Options that cannot be right are refused before anything starts, with a cure. */
import { describe, expect, it } from 'vitest'
import { startSandbox, type SandboxOptions } from '../../src/sandbox/server.ts'

describe('the sandbox', () => {
  it.each([
    { rows: 0 },
    { rows: 1.5 },
    { seed: Number.NaN },
    { port: -1 },
    { pageSizeMax: 0 },
    { itemsPerCollection: -2 },
    { changesPerSecond: -1 },
    { changesPerSecond: Number.NaN },
    { eventShape: 'round' },
    { compress: 'zip' },
    { timeStyle: 'local' },
  ])('refuses %j', async (options) => {
    await expect(startSandbox(options as SandboxOptions)).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      cure: expect.stringMatching(/^Give /) as string,
    })
  })

  it('fails with a clear error when its port is taken', async () => {
    await using first = await startSandbox({ rows: 1 })
    const port = Number(new URL(first.url).port)
    await expect(startSandbox({ rows: 1, port })).rejects.toMatchObject({ code: 'USAGE_INVALID' })
  })

  it('listens on loopback, works with a single row, and stops listening when it is closed', async () => {
    const sandbox = await startSandbox({ rows: 1 })
    expect(new URL(sandbox.url).hostname).toBe('127.0.0.1')
    expect((await fetch(sandbox.url)).status).toBe(404)
    await sandbox.close()
    await expect(fetch(sandbox.url)).rejects.toThrow()
  })
})
