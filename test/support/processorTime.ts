/** Notes the processor time of each test file in the file's `meta`, for the times reporter. */
import { existsSync, readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  export interface TaskMeta {
    processorMs?: number
  }
}

const TICK_MS = 10
/** Fields 16 and 17, counted from 1, are the times of children that ended. */
const STAT = '/proc/self/stat'

const before = usedMs()

// oxlint-disable-next-line no-empty-pattern -- vitest allows only a destructured context as the first parameter
afterAll(({}, file) => {
  file.meta.processorMs = usedMs() - before
})

function usedMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000 + childrenMs()
}

function childrenMs(): number {
  if (!existsSync(STAT)) return 0
  const text = readFileSync(STAT, 'utf8')
  // The second field, the program's name, may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS
}
