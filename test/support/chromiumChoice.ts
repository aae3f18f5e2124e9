/** Decides where the browser tests get their Chromium from. No decision leads to skipped tests. */
import { installing } from './apt.ts'

export interface BrowserMachine {
  /** The path of an installed Chromium. */
  readonly found: string | undefined
  /** True on Debian or Ubuntu with permission to install packages. */
  readonly mayInstall: boolean
}

export type ChromiumChoice =
  | { readonly way: 'found'; readonly path: string }
  | { readonly way: 'install' }
  | { readonly way: 'none'; readonly message: string }

/** The headless shell needs half the processor time. */
export const CHROMIUM_NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
] as const

/** Debian has the headless shell as a package, Ubuntu does not. */
export const INSTALL_CHROMIUM = `${installing('chromium-headless-shell', 'fonts-dejavu-core')} || ${installing('chromium', 'fonts-dejavu-core')}`

export function chooseChromium({ found, mayInstall }: BrowserMachine): ChromiumChoice {
  if (found !== undefined) return { way: 'found', path: found }
  if (mayInstall) return { way: 'install' }
  return {
    way: 'none',
    message:
      'The tests of the console need a Chromium on the PATH. Type: sudo apt-get install chromium   (or: brew install --cask chromium)',
  }
}
