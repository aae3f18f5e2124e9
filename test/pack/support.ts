/** Packs this checkout with npm into a folder of the test. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../rules/source.ts'

export const run = promisify(execFile)

/** With `--import`, a process behaves as on an older Node. */
export const OLD_NODE = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.19.0'}})`

export interface Packed extends AsyncDisposable {
  readonly folder: string
  readonly tarball: string
}

/** Packs a copy, because packing writes next to the source. */
export async function packed(): Promise<Packed> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-pack-'))
  const copy = path.join(folder, 'copy')
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  for (const name of stdout.trim().split('\n')) {
    if (/^(?:test|bench)\//.test(name)) continue
    await mkdir(path.dirname(path.join(copy, name)), { recursive: true })
    // A file may be missing in the working tree.
    await cp(path.join(ROOT, name), path.join(copy, name)).catch(() => undefined)
  }
  // Python leaves compiled files beside a recipe that it imported.
  const compiled = path.join(copy, 'ops/recipes/__pycache__')
  await mkdir(compiled)
  await writeFile(path.join(compiled, 'airflow_dag.cpython-311.pyc'), '')
  // The declaration files need the compiler and the types of libraries.
  await symlink(path.join(ROOT, 'node_modules'), path.join(copy, 'node_modules'))
  await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: copy, env: environment(folder) })
  const tarball = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? ''
  return {
    folder,
    tarball: path.join(folder, tarball),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Returns an empty home, with this Node first on the path. */
export const environment = (home: string): Record<string, string> => ({
  PATH: `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
  HOME: home,
})
