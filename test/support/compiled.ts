/** Stores compiled code for the processes of tests, so that none compiles the program again. */
import { enableCompileCache } from 'node:module'
import path from 'node:path'
import { ROOT } from '../rules/source.ts'

/** The value of NODE_COMPILE_CACHE. */
export const COMPILED = path.join(ROOT, 'node_modules/.cache/tidemark-tests')

process.env['NODE_COMPILE_CACHE'] = COMPILED
enableCompileCache(COMPILED)
