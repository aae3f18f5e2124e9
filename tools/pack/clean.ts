/**
 * Removes what was built for a package once it is packed: a checkout has its source, and nothing that could grow old.
 */
import { rm } from 'node:fs/promises'
import path from 'node:path'

await rm(path.join(import.meta.dirname, '../../dist'), { recursive: true, force: true })
