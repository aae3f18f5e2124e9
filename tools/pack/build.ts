/**
 * Builds the package while it is packed (`npm pack`): Node strips no types from files below node_modules, so what ships
 * is JavaScript. Types become spaces, so that lines and columns in errors stay those of the source; imports lose their
 * `.ts`; every other file is copied as it is. The checkout itself runs without any of this.
 */
import { globSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'

const ROOT = path.join(import.meta.dirname, '../..')
const TO = path.join(ROOT, 'dist')
const ROOMS = ['bin', 'schema', 'src', 'jobs']

/** A relative path to a TypeScript file, as a whole text: in imports, `import()` and `new URL`. */
const TYPESCRIPT_PATH = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g

await rm(TO, { recursive: true, force: true })
// Node says that stripping is young; what it makes is run by the test of the package.
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
