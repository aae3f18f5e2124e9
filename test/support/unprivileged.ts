/**
 * A program run as a user who owns nothing, since root may write everywhere: it loads its parts, then gives its rights
 * up, so that they may lie where only root can read. Where the tests run without rights, it has none to give up.
 */
import { execFile } from 'node:child_process'
import { chmod, chown } from 'node:fs/promises'
import { promisify } from 'node:util'

const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

/** Runs the text of a module with the rights of nobody from `GIVE_UP` on; gives what it says on standard output. */
export async function saidUnprivileged(module: string): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', module])
  return stdout
}

/** A statement of such a module. */
export const GIVE_UP = isRoot ? `process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY})` : ''

/** Hands a file or a folder over to that user, with these rights. */
export async function handOver(path: string, mode: number): Promise<void> {
  await chmod(path, mode)
  if (isRoot) await chown(path, NOBODY, NOBODY)
}
