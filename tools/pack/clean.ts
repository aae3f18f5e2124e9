/** Restores package.json and removes the built files after packing, because a checkout runs its source. */
import { rename, rm } from 'node:fs/promises'
import path from 'node:path'

const ROOT = path.join(import.meta.dirname, '../..')

await rename(path.join(import.meta.dirname, 'original.json'), path.join(ROOT, 'package.json'))
await rm(path.join(ROOT, 'dist'), { recursive: true, force: true })
