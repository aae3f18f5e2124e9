/** Folders and files that take seconds to create. Each is created once per test run, and copied for each test. */
import { existsSync } from 'node:fs'
import { cp, mkdir, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openStore } from '../../jobs/stores/openStore.ts'
import { systemClock } from '../../src/clock.ts'
import { Warehouse } from '../../src/warehouse/warehouse.ts'

/** Programs without this variable create their own files. */
export const TEMPLATES = 'TIDEMARK_TEST_TEMPLATES'

/** Writes an empty warehouse. All copies have the same identity. */
export const copyWarehouse = (path: string): Promise<void> =>
  copy('warehouse.duckdb', path, async (made) => {
    await (await Warehouse.open({ path: made, memory: '256MB' })).close()
  })

/** Writes an embedded queue without jobs. */
export const copyEmbeddedStore = (directory: string): Promise<void> =>
  copy('embedded-queue', directory, async (made) => {
    await (await openStore('embedded', { directory: made, clock: systemClock })).close()
  })

async function copy(name: string, to: string, make: (path: string) => Promise<void>): Promise<void> {
  const folder = process.env[TEMPLATES]
  if (folder === undefined) return
  await mkdir(dirname(to), { recursive: true })
  await cp(await template(join(folder, name), make), to, { recursive: true })
}

const made = new Map<string, Promise<string>>()

/** Processes may create the same template at the same time, and the first one stays. */
function template(path: string, make: (path: string) => Promise<void>): Promise<string> {
  const making = made.get(path) ?? makeOnce(path, make)
  made.set(path, making)
  return making
}

async function makeOnce(path: string, make: (path: string) => Promise<void>): Promise<string> {
  if (existsSync(path)) return path
  const draft = join(`${path}.${process.pid}`, 'draft')
  await mkdir(dirname(draft))
  await make(draft)
  await rename(draft, path).catch((error: unknown) => {
    if (!existsSync(path)) throw error
  })
  return path
}
