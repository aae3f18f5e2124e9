/**
 * Compares the pinned Node with a second, independent distribution (`npm run supply:node`): downloads both packages for
 * each platform, and compares the SHA-256 of their binaries with the pinned one. Needs npm, pip and tar or unzip.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { NODE_BINARIES, NODE_VERSION, SECOND_SOURCE } from './nodeBinaries.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'tidemark-supply-'))
const run = (command: string, ...args: string[]) => execFileSync(command, args, { cwd: folder, stdio: 'pipe' })
const sha256Of = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')

function fromNpm(name: string): string {
  run('npm', 'pack', '--silent', `${name}@${NODE_VERSION}`)
  run('tar', 'xzf', `${name}-${NODE_VERSION}.tgz`)
  return sha256Of(path.join(folder, 'package/bin/node'))
}

function fromSecondSource(platform: string): string {
  const target = path.join(folder, platform)
  const wanted = `${SECOND_SOURCE.package}==${SECOND_SOURCE.version}`
  run('pip', 'download', '--quiet', '--no-deps', '--only-binary', ':all:', '--platform', platform, '-d', target, wanted)
  const [wheel = ''] = readdirSync(target)
  run('python3', '-m', 'zipfile', '-e', path.join(target, wheel), target)
  return sha256Of(path.join(target, SECOND_SOURCE.path))
}

let differ = 0
try {
  for (const { npm, sha256, platform } of NODE_BINARIES) {
    const found = { npm: fromNpm(npm), second: fromSecondSource(platform) }
    const isSame = found.npm === sha256 && found.second === sha256
    if (!isSame) differ += 1
    process.stdout.write(`${npm} ${NODE_VERSION}: ${isSame ? 'the same binary in both distributions' : 'DIFFERENT'}\n`)
    process.stdout.write(`  pinned ${sha256}\n  npm    ${found.npm}\n  second ${found.second}\n`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = differ === 0 ? 0 : 1
