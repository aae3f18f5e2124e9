/** A worker that is stopped while it starts ends with 0, as one that is stopped later. */
import { expect, it } from 'vitest'
import { worker } from '../../src/cli/actions/worker.ts'
import { catchSignals } from '../../src/cli/stop.ts'
import type { Output, Shell } from '../../src/cli/shell.ts'
import { systemClock } from '../../src/clock.ts'
import { cancelled } from '../../src/errors.ts'
import { configOf } from '../config/folder.ts'

it('a signal before the worker has begun ends it with 0', async () => {
  using running = catchSignals({ clock: systemClock, say: () => undefined, quit: () => undefined })
  const stop = { ...running, signal: AbortSignal.abort(cancelled('stopped on request')) }
  const out: Output = { write: () => undefined, drained: () => Promise.resolve(), isTerminal: false, columns: 80 }
  const shell: Shell = { out, err: out, env: {}, cwd: '.', clock: systemClock, stop, isInteractive: false }
  expect(await worker(shell, { config: await configOf({}) }, [])).toBe(0)
})
