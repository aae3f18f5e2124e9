/** A small file system, so that a full disk is real. Only root may mount it. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface SmallDisk extends AsyncDisposable {
  readonly path: string
  grow(megabytes: number): void
}

/** Returns undefined if this user may not mount a file system. */
export async function aSmallDisk(megabytes: number): Promise<SmallDisk | undefined> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', path], { stdio: 'ignore' })
  } catch {
    await rm(path, { recursive: true, force: true })
    return undefined
  }
  return {
    path,
    grow: (more) => execFileSync('mount', ['-o', `remount,size=${more}m`, path]),
    [Symbol.asyncDispose]: async () => {
      execFileSync('umount', ['--lazy', path])
      await rm(path, { recursive: true, force: true })
    },
  }
}

export const mayMount = async (): Promise<boolean> => {
  await using disk = await aSmallDisk(1)
  return disk !== undefined
}

export async function fill(path: string): Promise<void> {
  await using file = await open(path, 'w')
  const piece = Buffer.alloc(64 * 1_024)
  let written = 0
  for (;;) {
    try {
      await file.appendFile(piece)
      written += 1
    } catch {
      if (written === 0) throw new TypeError(`${path} was full before`)
      return
    }
  }
}
