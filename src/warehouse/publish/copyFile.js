/**
 * Copies argv[2] to argv[3], makes it durable, and renames it to argv[4]. A program of its own, so that the writer's
 * process never opens its own database file. It dies with its writer: the file may change from then on, and a torn or
 * outdated copy must never become the published one. Plain JavaScript: it starts faster.
 */
import { constants, rmSync } from 'node:fs'
import { copyFile, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

const [, , from, temporary, to] = process.argv

// Only the writer has the other end of standard input, and never writes to it. So its end means that the writer has
// died. The kill ends a running copy at once, which an exit would not do.
process.stdin.on('end', () => {
  rmSync(temporary, { force: true })
  process.kill(process.pid, 'SIGKILL')
})
process.stdin.resume().unref()

const sync = async (path) => {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

try {
  await copyFile(from, temporary, constants.COPYFILE_FICLONE)
  await sync(temporary)
  await rename(temporary, to)
  await sync(dirname(to))
} catch (error) {
  process.stderr.write(`${error.code ?? ''} ${error.message}\n`)
  process.exitCode = 1
}
