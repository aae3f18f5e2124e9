/** Creates the file of a warehouse, and detects that someone has replaced the file while this process has it open. */
import { existsSync } from 'node:fs'
import { link, rm, stat, readdir } from 'node:fs/promises'
import path, { dirname } from 'node:path'
import { SyncError } from '../../errors.ts'
import { flush } from '../../files.ts'
import { folderRefused, makeFolder, makePrivateFolder, removeFolder } from '../../folders.ts'
import { Database, type DatabaseOptions } from './duckdb.ts'
import { randomUUID } from 'node:crypto'

export function makeFolderFor(file: string): void {
  const folder = dirname(file)
  try {
    makeFolder(folder)
  } catch (error) {
    throw folderRefused(folder, error)
  }
}

/** Creates a missing file under a temporary name, because another worker must not open a file that is still empty. */
export async function makeFile(path: string, aside: string, options: DatabaseOptions): Promise<void> {
  if (existsSync(path)) return
  try {
    const database = await Database.open(aside, options)
    await database.close()
    // A link, unlike a rename, never replaces a file that another process has created meanwhile.
    await link(aside, path)
    await flush(dirname(path))
  } catch {
    // Another process was faster, or this file system has no links. In both cases DuckDB opens or creates the file.
  } finally {
    await rm(aside, { force: true }).catch(() => undefined)
  }
}

/** Remembers which file this process has open. If someone removes or replaces the file, later commits would be lost. */
export class OwnFile {
  readonly #path: string
  readonly #identity: string | undefined

  private constructor(path: string, identity: string | undefined) {
    this.#path = path
    this.#identity = identity
  }

  static async at(path: string): Promise<OwnFile> {
    return new OwnFile(path, await identityOf(path))
  }

  async check(): Promise<void> {
    const now = await identityOf(this.#path)
    if (now === this.#identity) return
    const what = now === undefined ? 'was moved away or removed' : 'was replaced by another file'
    throw new SyncError('WAREHOUSE_MISSING', `${this.#path} ${what} while this process had it open`, {
      cure: 'Stop this process, put the right file in place and start it again: rows that it writes until then are lost.',
      data: { path: this.#path },
    })
  }
}

async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true })
    return `${dev} ${ino}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export const spillPrefix = (warehouse: string): string => `${warehouse}.spill-`

/** DuckDB writes data that does not fit into memory to this folder. Each opening of a warehouse uses a new folder. */
export class SpillFolder {
  /** Only the user of this process can open this folder. A folder that DuckDB creates would be open to all users. */
  readonly own: string
  readonly #prefix: string

  constructor(warehouse: string) {
    this.#prefix = spillPrefix(warehouse)
    this.own = this.#prefix + randomUUID()
  }

  /** Creates the folder. If `isAlone` is true, removes folders of dead processes. Throws WAREHOUSE_MISSING. */
  async create({ isAlone }: { readonly isAlone: boolean }): Promise<void> {
    const folder = path.dirname(this.own)
    const found = isAlone ? (await readdir(folder)).map((each) => path.join(folder, each)) : []
    const others = found.filter((each) => each.startsWith(this.#prefix) && each !== this.own)
    for (const each of others) await removeFolder(each)
    makePrivateFolder(this.own)
  }

  /** Call this after the warehouse was closed. */
  async removeOwnFolder(): Promise<void> {
    await rm(this.own, { recursive: true, force: true })
  }
}
