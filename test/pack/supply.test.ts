/** What the project installs is known: the bytes of the pinned Node, the licences, and a list for auditors. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { NODE_BINARIES, NODE_VERSION } from '../../tools/supply/nodeBinaries.ts'
import { ALLOWED, productionDependencies } from '../../tools/supply/licences.ts'
import { ROOT } from '../rules/source.ts'

it('the pinned Node has the bytes that two distributions agreed on', async () => {
  const installed = NODE_BINARIES.filter(({ npm }) => existsSync(path.join(ROOT, 'node_modules', npm)))
  expect(installed).not.toEqual([])
  for (const { npm, sha256 } of installed) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(path.join(ROOT, 'node_modules', npm, 'bin/node')), hash)
    expect(hash.digest('hex'), npm).toBe(sha256)
  }
})

it('package.json installs the version of Node whose bytes are pinned', () => {
  const { optionalDependencies } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    optionalDependencies: Record<string, string>
  }
  expect(optionalDependencies).toEqual(Object.fromEntries(NODE_BINARIES.map(({ npm }) => [npm, NODE_VERSION])))
})

it('every production dependency has a licence that may be used', () => {
  const dependencies = productionDependencies()
  expect(dependencies.length).toBeGreaterThan(100)
  expect(dependencies.filter(({ licence }) => !ALLOWED.includes(licence))).toEqual([])
})

it('`npm run --silent sbom` lists every production dependency that is installed, as CycloneDX', () => {
  const text = execFileSync('npm', ['run', '--silent', 'sbom'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 2 ** 26 })
  const { bomFormat, components } = JSON.parse(text) as { bomFormat: string; components: { 'bom-ref': string }[] }
  expect(bomFormat).toBe('CycloneDX')
  const listed = new Set(components.map((each) => each['bom-ref']))
  const missing = productionDependencies().filter(({ name, version }) => !listed.has(`${name}@${version}`))
  // Packages for other platforms are in the lock file, and not installed here.
  expect(missing.filter(({ name }) => existsSync(path.join(ROOT, 'node_modules', name)))).toEqual([])
})
