/**
 * Builds the package (`npm pack`). Node strips no types from files below node_modules, so the package contains
 * JavaScript. Types become spaces, so that lines and columns in errors are those of the source. Imports lose their
 * `.ts`, and other files are copied. The checkout itself runs without this step.
 */
import { globSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'

const ROOT = path.join(import.meta.dirname, '../..')
const TO = path.join(ROOT, 'dist')
const ROOMS = ['bin', 'schema', 'src', 'jobs']

/** Matches a string that contains only a relative path to a TypeScript file: in imports, `import()` and `new URL`. */
const TYPESCRIPT_PATH = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g

await rm(TO, { recursive: true, force: true })
// Hides Node's warning that type stripping is experimental: a test runs the package, so the result is checked.
process.removeAllListeners('warning').on('warning', () => undefined)
for (const name of globSync(
  ROOMS.map((room) => `${room}/**/*.*`),
  { cwd: ROOT },
)) {
  const to = path.join(TO, name)
  await mkdir(path.dirname(to), { recursive: true })
  if (name.endsWith('.ts')) {
    const stripped = stripTypeScriptTypes(await readFile(path.join(ROOT, name), 'utf8'), { mode: 'strip' })
    await writeFile(to.replace(/\.ts$/, '.js'), stripped.replaceAll(TYPESCRIPT_PATH, '$1$2.js$1'))
  } else await cp(path.join(ROOT, name), to)
}
await cp(path.join(ROOT, 'package.json'), path.join(TO, 'package.json'))
