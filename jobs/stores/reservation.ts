/** Reserves a queue store for one warehouse, because the workers of two warehouses would take each other's jobs. */
import { unfitError } from './problemLog.ts'
import type { QueueStore } from './store.ts'

const NAME = 'warehouse'
export const A_LAKE = 'a lake'

/** Reserves the store for `ms`, or renews the reservation. Throws QUEUE_UNFIT if another warehouse has reserved it. */
export async function reserveStore({ values, shown }: QueueStore, warehouse: string, ms: number): Promise<void> {
  if ((await values.renew(NAME, warehouse, ms)) || (await values.claim(NAME, warehouse, ms))) return
  const cure = 'Use another queue for each warehouse. Example for Redis, with database 2: redis://host:6379/2.'
  throw unfitError(shown, `a worker uses it for another warehouse, ${await reservedFor({ values })}`, cure)
}

export const releaseStore = ({ values }: QueueStore, warehouse: string): Promise<void> => values.remove(NAME, warehouse)

/** Returns the path of the warehouse that has reserved the store, or `A_LAKE`. */
export const reservedFor = async ({ values }: Pick<QueueStore, 'values'>): Promise<string | undefined> =>
  (await values.read(NAME))?.text.replace(/ [^ ]*$/, '')
