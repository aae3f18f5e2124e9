/**
 * Turns the retired copy, which is the previously published file, into a copy of the warehouse. Writes only blocks that
 * differ. Compares all bytes, because different blocks can have the same checksum. Never writes to a file that another
 * process can still read.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readSync } from 'node:fs'
import { open, rename, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setImmediate as otherEvents } from 'node:timers/promises'
import { HEADERS_BYTES, headersOf, isIntact, wordsOf } from './duckdbFile.js'

/** @typedef {import('node:fs/promises').FileHandle} FileHandle */

/** The `statfs` types of ext4, XFS, Btrfs, F2FS, ZFS and tmpfs: no other machine can have opened their files. */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x2fc12fc1, 0x01021994])
const [STORAGE_VERSION, BLOCK_BYTES] = [67n, 262_144]
/** Byte positions in the main header of a DuckDB file. */
const [MAGIC, VERSION, FLAGS, FLAGS_END] = [8, 12, 20, 52]
const PIECE_BYTES = 4 * BLOCK_BYTES
/**
 * Node can't request a lease, so a Perl program requests a write lease on the file with descriptor 3.
 * The kernel refuses the lease if another process has the file open. Until the patch has ended, processes that open
 * the file wait. 1024 is F_SETLEASE, and 1 is F_WRLCK.
 */
const LEASE_PROGRAM = 'open(F, "+<&=", 3) && fcntl(F, 1024, 1) or die'
const LEASE_MS_MAX = 5_000

export const isLocal = async (/** @type {string} */ file) => LOCAL.has((await statfs(dirname(file))).type)

/**
 * Renames the file `retired` to `temporary` and changes it into a copy of `from`. Returns the number of written blocks.
 * If the change fails, returns the reason as text. The file `temporary` can then be missing or incomplete.
 * @param {{ from: string, temporary: string, retired: string }} files
 */
export async function patchRetired({ from, temporary, retired }) {
  try {
    if (!(await isLocal(temporary))) return 'the file system is not known to be local'
    await rename(retired, temporary)
    await using source = await open(from, 'r')
    await using target = await open(temporary, 'r+')
    return (await refusal(source, target)) ?? (await patch(source, target))
  } catch (error) {
    const { code, syscall, message } = /** @type {NodeJS.ErrnoException} */ (error)
    return syscall === 'rename' && code === 'ENOENT' ? 'there is no retired copy' : message
  }
}

async function refusal(/** @type {FileHandle} */ source, /** @type {FileHandle} */ target) {
  const [fresh, old] = [await headersOf(source), await headersOf(target)]
  const { main } = fresh
  const isPlain = main.subarray(FLAGS, FLAGS_END).every((byte) => byte === 0)
  if (
    main.toString('latin1', MAGIC, VERSION) !== 'DUCK' ||
    main.readBigUInt64LE(VERSION) !== STORAGE_VERSION ||
    !isPlain
  )
    return 'the file has another version, or is encrypted'
  if (fresh.blockBytes !== BLOCK_BYTES) return 'the file has blocks of another size'
  if (!main.equals(old.main)) return 'the retired copy has another header'
  if (!(await hasOneLink(target)) || !(await isLeased(target)) || !(await hasOneLink(target)))
    return 'somebody still has the retired copy: an open file or a hard link'
  return undefined
}

const hasOneLink = async (/** @type {FileHandle} */ file) => (await file.stat()).nlink === 1

/** Returns whether the kernel has granted the lease, which lasts until the file is closed. */
async function isLeased(/** @type {FileHandle} */ file) {
  const stdio = /** @type {const} */ (['ignore', 'ignore', 'ignore'])
  const perl = spawn('perl', ['-e', LEASE_PROGRAM], {
    stdio: [...stdio, file.fd],
    timeout: LEASE_MS_MAX,
    killSignal: 'SIGKILL',
  })
  const [code] = await once(perl, 'exit')
  return code === 0
}

/** Never writes a damaged block. */
async function patch(/** @type {FileHandle} */ source, /** @type {FileHandle} */ target) {
  const { size, mode } = await source.stat()
  const { bytes, blocks } = await headersOf(source)
  await target.chmod(mode)
  await target.truncate(size)
  const [fresh, old] = [Buffer.from(new ArrayBuffer(PIECE_BYTES)), Buffer.from(new ArrayBuffer(PIECE_BYTES))]
  let written = 0
  for (let at = HEADERS_BYTES; at < size; at += PIECE_BYTES) {
    // Handles events between the reads, such as the end of the parent process, because the reads are synchronous.
    await otherEvents()
    const length = Math.min(
      readSync(source.fd, fresh, 0, PIECE_BYTES, at),
      readSync(target.fd, old, 0, PIECE_BYTES, at),
    )
    if (length < Math.min(PIECE_BYTES, size - at)) return 'a file became shorter while it was read'
    if (fresh.compare(old, 0, length, 0, length) === 0) continue
    for (let from = 0; from < length; from += BLOCK_BYTES) {
      const block = fresh.subarray(from, Math.min(from + BLOCK_BYTES, length))
      if (block.equals(old.subarray(from, from + block.length))) continue
      const number = (at - HEADERS_BYTES + from) / BLOCK_BYTES
      if (number < blocks && (block.length < BLOCK_BYTES || !isIntact(wordsOf(block))))
        return `block ${number} is damaged`
      await target.write(block, 0, block.length, at + from)
      written += 1
    }
  }
  await target.write(bytes, 0, HEADERS_BYTES, 0)
  await target.sync()
  return written
}
