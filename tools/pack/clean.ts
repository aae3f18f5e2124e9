/** Removes the built files after packing, because outdated built files would confuse. A checkout runs its source. */
import { rm } from 'node:fs/promises'
import path from 'node:path'

await rm(path.join(import.meta.dirname, '../../dist'), { recursive: true, force: true })
