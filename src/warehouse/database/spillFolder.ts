/**
 * Where DuckDB puts what it can't hold in memory: a folder for each opening, so that the next owner can clear away what
 * a killed one left without touching its own. Whoever holds the file's lock is alone: all others are left over.
 */
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { removeFolder } from '../../folders.ts'

/** With what the names of all such folders of a warehouse begin. */
export const spillPrefix = (warehouse: string): string => `${warehouse}.spill-`

export class SpillFolder {
  /** DuckDB makes it when it first needs it. */
  readonly own: string
  readonly #prefix: string

  constructor(warehouse: string) {
    this.#prefix = spillPrefix(warehouse)
    this.own = this.#prefix + randomUUID()
  }

  /** Only while the warehouse is open. Error: WAREHOUSE_MISSING where another user's process left them. */
  async removeOthers(): Promise<void> {
    const folder = path.dirname(this.own)
    const found = (await readdir(folder)).map((each) => path.join(folder, each))
    const others = found.filter((each) => each.startsWith(this.#prefix) && each !== this.own)
    for (const each of others) await removeFolder(each)
  }

  /** After the warehouse was closed. */
  async removeOwn(): Promise<void> {
    await rm(this.own, { recursive: true, force: true })
  }
}
