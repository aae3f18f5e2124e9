/** The message that no worker owns the warehouse. Workers may run without the role `load`, but they load no rows. */
import { openStore } from '../../jobs/stores/openStore.ts'
import type { Config } from '../config/config.ts'
import { counted } from './layout.ts'
import type { Shell } from './shell.ts'
import { HEARTBEAT_AGE_MS_MAX, heartbeatAgeMs } from '../worker/heartbeat.ts'

const NOBODY = 'so nothing is read by itself: "tidemark worker" starts one, "tidemark sync" reads once.'

/** Returns the message that no worker owns the warehouse, and which workers run nevertheless. */
export async function unownedText(shell: Shell, config: Config): Promise<string> {
  const running = await atTheQueue(shell, config)
  if (running.length > 0) return `No worker owns the warehouse, ${NOBODY}\nThere run ${running.join(' and ')}.\n`
  const silent = await heartbeatAgeMs(config.warehouse, shell.clock)
  if (silent === undefined || silent >= HEARTBEAT_AGE_MS_MAX) return `No worker runs, ${NOBODY}\n`
  // There is a heartbeat but no owner: the owner was just killed, or all workers run without the role `load`.
  const lived = `A worker on this machine showed ${Math.round(silent / 1_000)} s ago that it lives`
  return `${lived}, but none owns the warehouse, ${NOBODY}\n`
}

/** Returns which workers take jobs from a shared queue. None for the embedded queue: only the owner can open it. */
async function atTheQueue({ clock }: Shell, { queue }: Config): Promise<string[]> {
  if (queue === 'embedded') return []
  try {
    await using store = await openStore(queue, { directory: '', clock })
    const [pull, schedule] = [await store.workersOf('windows'), await store.workersOf('ticks')]
    return [
      ...(pull === 0 ? [] : [`${counted(pull, 'worker')} with the role pull`]),
      ...(schedule === 0 ? [] : [`${counted(schedule, 'worker')} with the role schedule`]),
    ]
  } catch {
    return []
  }
}
