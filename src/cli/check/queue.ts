/** Checks the queue store: whether it responds, its version, whether it drops keys, and whether it persists data. */
import { existsSync } from 'node:fs'
import { openStore } from '../../../jobs/stores/openStore.ts'
import type { StoreFinding } from '../../../jobs/stores/store.ts'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import { asSyncError } from '../../errors.ts'
import { fail, type Finding, ok, warn } from './finding.ts'

const CHECK = 'queue'

export async function checkQueue({ queue, warehouse }: Config, clock: Clock): Promise<Finding[]> {
  const directory = `${warehouse}.queue`
  // Opening the embedded queue would create its folder, but a check must not create anything.
  if (queue === 'embedded' && !existsSync(directory))
    return [ok(CHECK, `embedded, in ${directory}; the first worker makes it`)]
  try {
    await using store = await openStore(queue, { directory, clock })
    return findingsOf(await store.check())
  } catch (thrown) {
    const error = asSyncError(thrown)
    if (error.code === 'QUEUE_LOCKED') return [ok(CHECK, `embedded, in ${directory}; a worker has it open`)]
    return [fail(CHECK, error)]
  }
}

/** Returns one finding that lists all passed checks, and one finding for each problem. */
function findingsOf(findings: readonly StoreFinding[]): Finding[] {
  const passed = findings.filter(({ state }) => state === 'passed').map(({ what }) => what)
  const others = findings.flatMap(({ state, what, cure = '' }) =>
    state === 'passed' ? [] : [{ ...warn(CHECK, what, cure), verdict: state === 'failed' ? 'fail' : 'warn' } as const],
  )
  return passed.length === 0 ? others : [ok(CHECK, passed.join(', ')), ...others]
}
