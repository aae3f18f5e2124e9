/** Installs Chromium for a test run if there is none. Without Chromium, the run fails: tests are never skipped. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { CHROMIUM_NAMES, chooseChromium, INSTALL_CHROMIUM } from './chromiumChoice.ts'
import { programOnPath } from './programsOnPath.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    chromium: string
  }
}

export const chromiumHere = (): string | undefined =>
  CHROMIUM_NAMES.map((name) => programOnPath(name)).find((path) => path !== undefined)

export default function setup(project: TestProject): void {
  const mayInstall = existsSync('/etc/debian_version') && process.getuid?.() === 0
  const choice = chooseChromium({ found: chromiumHere(), mayInstall })
  if (choice.way === 'none') throw new TypeError(choice.message)
  project.provide('chromium', choice.way === 'found' ? choice.path : installed())
}

function installed(): string {
  process.stderr.write(`The tests need a real Chromium and there is none here. Installing it: ${INSTALL_CHROMIUM}\n`)
  execFileSync('sh', ['-c', INSTALL_CHROMIUM], { stdio: ['ignore', 'ignore', 'inherit'] })
  const path = chromiumHere()
  if (path === undefined)
    throw new TypeError(`chromium was installed but is not on the PATH. Look at: ${INSTALL_CHROMIUM}`)
  return path
}
