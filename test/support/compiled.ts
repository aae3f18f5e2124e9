/**
 * Where processes of tests keep compiled code, so that none compiles the program again. As a setup file, it also does
 * this for the processes that the code under test starts.
 */
import { enableCompileCache } from 'node:module'
import path from 'node:path'
import { ROOT } from '../rules/source.ts'

/** The value of NODE_COMPILE_CACHE. */
export const COMPILED = path.join(ROOT, 'node_modules/.cache/tidemark-tests')

process.env['NODE_COMPILE_CACHE'] = COMPILED
enableCompileCache(COMPILED)
