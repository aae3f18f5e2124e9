/**
 * The file that this process has open. Somebody may remove it or put another one in its place, for instance a backup,
 * without stopping the process first: then every commit would succeed and be lost, and its log of writes would lie
 * beside a file that it doesn't belong to.
 */
import { stat } from 'node:fs/promises'
import { SyncError } from '../../errors.ts'

export class OwnFile {
  readonly #path: string
  readonly #identity: string | undefined

  private constructor(path: string, identity: string | undefined) {
    this.#path = path
    this.#identity = identity
  }

  /** The file that stands at `path` now. */
  static async at(path: string): Promise<OwnFile> {
    return new OwnFile(path, await identityOf(path))
  }

  /** Error: WAREHOUSE_MISSING where the path leads to no file any more, or to another one. */
  async check(): Promise<void> {
    const now = await identityOf(this.#path)
    if (now === this.#identity) return
    const what = now === undefined ? 'was moved away or removed' : 'was replaced by another file'
    throw new SyncError('WAREHOUSE_MISSING', `${this.#path} ${what} while this process had it open`, {
      cure: 'Stop this process, put the right file in place and start it again: what is written until then is lost.',
      data: { path: this.#path },
    })
  }
}

/** As the file system tells files apart; undefined: there is none. */
async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true })
    return `${dev} ${ino}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
