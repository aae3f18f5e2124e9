/** Removes the built files after packing. A checkout runs its source, and outdated built files would confuse. */
import { rm } from 'node:fs/promises'
import path from 'node:path'

await rm(path.join(import.meta.dirname, '../../dist'), { recursive: true, force: true })
