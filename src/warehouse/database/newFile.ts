/**
 * How a warehouse comes to its file. DuckDB makes a file empty and locks it a moment later: whoever opens it in between
 * takes it for a broken one, and for that moment also its lock, so that in the end it may stay empty. Workers that start
 * together did so. Therefore it is made aside, and gets its name when it is whole.
 */
import { existsSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { Database, type DatabaseOptions } from './duckdb.ts'

/**
 * Makes the file where there is none; `aside` is a name of this process's own, beside it. Never rejects: what goes wrong
 * here goes wrong again when the file itself is opened, and is told of that.
 */
export async function makeFile(path: string, aside: string, options: DatabaseOptions): Promise<void> {
  if (existsSync(path)) return
  try {
    const database = await Database.open(aside, options)
    await database.close()
    // Unlike a rename, it leaves alone what another process has put there meanwhile.
    await link(aside, path)
  } catch {
    // Another process was faster, or this file system has no links: then DuckDB makes it in its place.
  } finally {
    await rm(aside, { force: true }).catch(() => undefined)
  }
}
