/**
 * Builds the package (`npm pack`): JavaScript, because Node strips no types below node_modules. Types become spaces, so
 * that errors have the lines and columns of the source.
 */
import { execFileSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'

const ROOT = path.join(import.meta.dirname, '../..')
const TO = path.join(ROOT, 'dist')
const ROOMS = ['bin', 'schema', 'src', 'jobs']

/** Matches a relative path to a TypeScript file. */
const TYPESCRIPT_PATH = /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g

await rm(TO, { recursive: true, force: true })
// Node warns that type stripping is experimental, but a test checks the result.
process.removeAllListeners('warning').on('warning', () => undefined)
for (const name of globSync(
  ROOMS.map((room) => `${room}/**/*.*`),
  { cwd: ROOT },
)) {
  const to = path.join(TO, name)
  await mkdir(path.dirname(to), { recursive: true })
  if (/\.[jt]s$/.test(name)) {
    const text = await readFile(path.join(ROOT, name), 'utf8')
    const stripped = name.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'strip' }) : text
    await writeFile(to.replace(/\.ts$/, '.js'), stripped.replaceAll(TYPESCRIPT_PATH, '$1$2.js$1'))
  } else await cp(path.join(ROOT, name), to)
}
await writeDeclarations(path.join(TO, 'src/library/index.d.ts'))
await publishPackage()

/** Writes the declaration files that programs need. */
async function writeDeclarations(entry: string): Promise<void> {
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, '-p', path.join(import.meta.dirname, 'tsconfig.json')], { stdio: 'inherit' })
  const needed = new Set([entry])
  for (const file of needed) {
    const text = await readFile(file, 'utf8')
    for (const [, , target = ''] of text.matchAll(TYPESCRIPT_PATH))
      needed.add(path.join(path.dirname(file), `${target}.d.ts`))
    await writeFile(file, text.replaceAll(TYPESCRIPT_PATH, '$1$2.js$1'))
  }
  for await (const name of glob('**/*.d.ts', { cwd: TO }))
    if (!needed.has(path.join(TO, name))) await rm(path.join(TO, name))
}

/** `exports` names the built files. clean.ts restores the original. */
async function publishPackage(): Promise<void> {
  const file = path.join(ROOT, 'package.json')
  await cp(file, path.join(import.meta.dirname, 'original.json'))
  const { publishConfig, exports: _, ...rest } = JSON.parse(await readFile(file, 'utf8')) as Record<string, object>
  await writeFile(path.join(TO, 'package.json'), JSON.stringify(rest))
  await writeFile(file, `${JSON.stringify({ ...rest, ...publishConfig }, undefined, 2)}\n`)
}
