/**
 * Runs a program as a user without permissions, because root may write everywhere. It loads its modules first and then
 * drops its rights, so that the modules may be readable by root only. If the tests already run without rights, nothing
 * is dropped.
 */
import { execFile } from 'node:child_process'
import { chmod, chown } from 'node:fs/promises'
import { promisify } from 'node:util'
import { COMPILED } from './compiled.ts'

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

/** Runs the text of a module, as `nobody` after `GIVE_UP`. Returns its standard output. */
export async function saidUnprivileged(module: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', module], {
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
  })
  return stdout
}

/** The statement that drops the rights, for such a module. */
export const GIVE_UP = isRoot ? `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY})` : ''

/** Gives a file or a folder to that user, with these permissions. */
export async function handOver(path: string, mode: number): Promise<void> {
  await chmod(path, mode)
  if (isRoot) await chown(path, NOBODY, NOBODY)
}
