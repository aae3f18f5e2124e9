/** The folder for data that does not fit into memory. The file's lock shows that other such folders are left over. */
import { randomUUID } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import path from 'node:path'
import { makePrivateFolder, removeFolder } from '../../folders.ts'

/** Returns the common beginning of the names of a warehouse's spill folders. */
export const spillPrefix = (warehouse: string): string => `${warehouse}.spill-`

export class SpillFolder {
  /** The folder of this process. It exists while the warehouse is open, because DuckDB would let every user enter it. */
  readonly own: string
  readonly #prefix: string

  constructor(warehouse: string) {
    this.#prefix = spillPrefix(warehouse)
    this.own = this.#prefix + randomUUID()
  }

  /** Creates the folder of this process. Must be called while the warehouse is open. */
  create(): void {
    makePrivateFolder(this.own)
  }

  /** Removes the folders of dead processes. Throws WAREHOUSE_MISSING if a folder belongs to another user. */
  async removeOthers(): Promise<void> {
    const folder = path.dirname(this.own)
    const found = (await readdir(folder)).map((each) => path.join(folder, each))
    const others = found.filter((each) => each.startsWith(this.#prefix) && each !== this.own)
    for (const each of others) await removeFolder(each)
  }

  /** Removes the folder of this process. Must be called after the warehouse was closed. */
  async removeOwn(): Promise<void> {
    await rm(this.own, { recursive: true, force: true })
  }
}
