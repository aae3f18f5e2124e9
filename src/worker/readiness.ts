/** Checks whether a worker can do its work, for the endpoint `/readyz`. */
import { rm, writeFile } from 'node:fs/promises'
import type { JobQueues } from '../../jobs/queue/jobQueues.ts'
import type { QueueStore } from '../../jobs/stores/store.ts'
import type { Clock } from '../clock.ts'
import { PRIVATE_FILE } from '../folders.ts'
import type { ConsoleBackend } from '../console/backend.ts'
import type { Warehouse } from '../warehouse/warehouse.ts'
import type { Role } from './roles.ts'

export interface WarehouseOwnership {
  isOwnerKnown: boolean
  owned?: { readonly backend: ConsoleBackend; readonly warehouse: Pick<Warehouse, 'checkFile'> } | undefined
}

interface ReadinessOptions {
  readonly clock: Clock
  readonly warehouse: string
  readonly store: Pick<QueueStore, 'checkWritable'>
  readonly queues: Pick<JobQueues, 'queue'>
  readonly roles: ReadonlySet<Role>
  readonly ownership: WarehouseOwnership
}

const ANSWER_MS = 2_000
/** The content of the test file that the check writes. DuckDB's file grows in blocks of this size, 256 KiB. */
const BLOCK = Buffer.alloc(262_144)

export function readinessCheck(parts: ReadinessOptions): () => Promise<boolean> {
  let last: { readonly atMs: number; readonly answer: Promise<boolean> } | undefined
  return () => {
    const nowMs = parts.clock.monotonicMs()
    if (last === undefined || nowMs - last.atMs >= ANSWER_MS) {
      last = { atMs: nowMs, answer: isReady(parts).catch(() => false) }
    }
    return last.answer
  }
}

async function isReady({ warehouse, store, queues, roles, ownership }: ReadinessOptions): Promise<boolean> {
  await store.checkWritable()
  if (roles.has('schedule') && (await queues.queue('ticks').getJobSchedulersCount()) === 0) return false
  if (roles.has('load') || roles.has('pull')) await checkSpace(`${warehouse}.ready`)
  if (!roles.has('load')) return true
  await ownership.owned?.warehouse.checkFile()
  return ownership.isOwnerKnown
}

async function checkSpace(file: string): Promise<void> {
  try {
    await writeFile(file, BLOCK, { mode: PRIVATE_FILE })
  } finally {
    await rm(file, { force: true })
  }
}
