/** A Python of this machine with pinned packages in an environment of its own, which is created once. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const INSTALL_MS_MAX = 10 * 60_000

export interface Python {
  /** The folder with `python` and the programs of the packages. */
  readonly bin: string
}

/** Installs the packages of the file `requirements`. Returns the reason if that is not possible on this machine. */
export async function aPython(requirements: string): Promise<Python | string> {
  const pinned = createHash('sha256')
    .update(await readFile(requirements))
    .digest('hex')
    .slice(0, 12)
  const home = path.join(tmpdir(), `tidemark-python-${pinned}`)
  const bin = path.join(home, 'bin')
  try {
    await run('python3', ['--version'])
  } catch {
    return 'there is no python3 here'
  }
  try {
    if (!existsSync(path.join(bin, 'python'))) await run('python3', ['-m', 'venv', home])
    await run(path.join(bin, 'pip'), ['install', '--quiet', '--disable-pip-version-check', '-r', requirements], {
      timeout: INSTALL_MS_MAX,
    })
  } catch (error) {
    return `the packages cannot be installed here (${String((error as { stderr?: unknown }).stderr)
      .trim()
      .split('\n')
      .at(-1)})`
  }
  return { bin }
}
