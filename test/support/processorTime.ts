/**
 * Runs before each test file and notes in the file's `meta` how much processor time the file used, including the
 * processes that it started and that ended. The times reporter prints it.
 */
import { existsSync, readFileSync } from 'node:fs'
import { afterAll } from 'vitest'

declare module 'vitest' {
  export interface TaskMeta {
    /** Processor time of a test file in milliseconds. */
    processorMs?: number
  }
}

const TICK_MS = 10
/** Linux only: fields 16 and 17 of the file, counted from 1, are the user and system time of children that ended. */
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
  // The second field is the program's name in brackets, which may contain spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS
}
