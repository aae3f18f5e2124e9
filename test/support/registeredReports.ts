/** Removes the reports that a test file has added, because test files share loaded modules. */
import { afterAll } from 'vitest'
import { reportNames, reports } from '../../schema/index.ts'
import { DEFINITIONS, ENDPOINTS, ENTITY_IDS, REPORTS, SCOPES, WORLD_REPORTS } from '../../src/sandbox/reports/index.ts'

const lists: readonly unknown[][] = [reports, reportNames, WORLD_REPORTS, ENDPOINTS, REPORTS, SCOPES]
const before = lists.map((list) => [...list])
const known = new Set<string>(WORLD_REPORTS)

afterAll(() => {
  for (const [n, list] of lists.entries()) list.splice(0, list.length, ...(before[n] ?? []))
  for (const byName of [DEFINITIONS, ENTITY_IDS])
    for (const name of Object.keys(byName)) if (!known.has(name)) Reflect.deleteProperty(byName, name)
})
