/** The project's version and the path of its launcher. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const PACKAGE = new URL('../../package.json', import.meta.url)

export const version = (): string => (JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string }).version

export const LAUNCHER = fileURLToPath(new URL('../../bin/tidemark.js', import.meta.url))
