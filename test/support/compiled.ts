/** Where the processes of tests keep compiled code, so that none compiles the program again. */
import path from 'node:path'
import { ROOT } from '../rules/source.ts'

/** The value of NODE_COMPILE_CACHE. */
export const COMPILED = path.join(ROOT, 'node_modules/.cache/tidemark-tests')
