/** Runs a program as a user without permissions, because root may write everywhere. */
import { execFile } from 'node:child_process'
import { chmod, chown } from 'node:fs/promises'
import { promisify } from 'node:util'
import { COMPILED } from './compiled.ts'

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

/** Returns the standard output of a module that runs as `nobody` after `GIVE_UP`. */
export async function saidUnprivileged(module: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', module], {
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
  })
  return stdout
}

/** A module imports other modules before this statement drops the rights. */
export const GIVE_UP = isRoot ? `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY})` : ''

/** Makes that user the owner of a file or folder. */
export async function handOver(path: string, mode: number): Promise<void> {
  await chmod(path, mode)
  if (isRoot) await chown(path, NOBODY, NOBODY)
}
