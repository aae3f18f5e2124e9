/** Copies the database argv[2] to argv[3] and prints a `CopyReport` (publish.ts). The retired copy is argv[4] or ''. */
import { constants, rmSync } from 'node:fs'
import { copyFile, open, rm } from 'node:fs/promises'
import { damagedBlocks } from './duckdbFile.js'
import { isLocal, patchRetired } from './patchRetired.js'

const [, , from = '', temporary = '', retired = ''] = process.argv

// Standard input ends when the writer dies. The copy then stops, because another process may change the source file.
process.stdin.on('end', () => {
  rmSync(temporary, { force: true })
  process.kill(process.pid, 'SIGKILL')
})
process.stdin.resume().unref()

async function check() {
  await using file = await open(temporary, 'r')
  await file.sync()
  return await damagedBlocks(file)
}

async function copy() {
  const isReflink = await copyFile(from, temporary, constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  )
  if (isReflink) return { way: 'reflink', damaged: await check(), keepsRetired: false }
  const patched = retired === '' ? 'publish_by is whole' : await patchRetired({ from, temporary, retired })
  const keepsRetired = retired !== '' && (await isLocal(temporary))
  if (typeof patched === 'number') return { way: 'blocks', blocks: patched, damaged: [], keepsRetired }
  await rm(temporary, { force: true })
  await copyFile(from, temporary)
  return { way: 'whole', reason: patched, damaged: await check(), keepsRetired }
}

try {
  process.stdout.write(JSON.stringify(await copy()))
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
  process.stderr.write(`${code ?? ''} ${message}\n`)
  process.exitCode = 1
}
