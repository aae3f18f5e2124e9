/**
 * The folder to which DuckDB spills data that does not fit into memory. Each opening of a warehouse has its own
 * folder. The process that has the lock of the file is the only one, so it removes all other spill folders: they
 * belong to processes that have died.
 */
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { removeFolder } from '../../folders.ts'

/** Returns the beginning of the names of all spill folders of a warehouse. */
export const spillPrefix = (warehouse: string): string => `${warehouse}.spill-`

export class SpillFolder {
  /** DuckDB creates the folder when it first spills. */
  readonly own: string
  readonly #prefix: string

  constructor(warehouse: string) {
    this.#prefix = spillPrefix(warehouse)
    this.own = this.#prefix + randomUUID()
  }

  /**
   * Removes the folders of dead processes. Call it while the warehouse is open. Throws WAREHOUSE_MISSING when a
   * folder belongs to another user.
   */
  async removeOthers(): Promise<void> {
    const folder = path.dirname(this.own)
    const found = (await readdir(folder)).map((each) => path.join(folder, each))
    const others = found.filter((each) => each.startsWith(this.#prefix) && each !== this.own)
    for (const each of others) await removeFolder(each)
  }

  /** Removes the own folder. Call it after the warehouse was closed. */
  async removeOwn(): Promise<void> {
    await rm(this.own, { recursive: true, force: true })
  }
}
