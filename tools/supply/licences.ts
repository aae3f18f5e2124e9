/** The licences of the production dependencies, from package-lock.json (`npm run licences` prints them). */
import { readFileSync } from 'node:fs'

/** Licences under which a dependency may be used without further conditions. Any other one needs a decision. */
export const ALLOWED: readonly string[] = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-3-Clause', 'ISC', 'MIT']

export interface Dependency {
  readonly name: string
  readonly version: string
  readonly licence: string
}

interface LockEntry {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
}

/** Returns the packages that `npm ci --omit=dev` installs, with the licence that each one names. */
export function productionDependencies(): readonly Dependency[] {
  const file = new URL('../../package-lock.json', import.meta.url)
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, LockEntry> }
  return Object.entries(packages).flatMap(([place, { version = '', license = 'unknown', dev, devOptional }]) =>
    place === '' || dev === true || devOptional === true
      ? []
      : [{ name: place.split('node_modules/').at(-1) ?? place, version, licence: license }],
  )
}

if (import.meta.main) {
  const found = Map.groupBy(productionDependencies(), ({ licence }) => licence)
  for (const [licence, dependencies] of [...found].toSorted(([a], [b]) => a.localeCompare(b))) {
    process.stdout.write(`${licence}${ALLOWED.includes(licence) ? '' : '  NOT ALLOWED'} (${dependencies.length})\n`)
    for (const { name, version } of dependencies) process.stdout.write(`  ${name} ${version}\n`)
  }
  process.exitCode = [...found.keys()].every((licence) => ALLOWED.includes(licence)) ? 0 : 1
}
