/**
 * Where the browser tests get their Chromium from, decided from what this machine has; pure. No way ends in tests that
 * are skipped.
 */
import { installing } from './apt.ts'

export interface BrowserMachine {
  /** The path of a Chromium that is here. */
  readonly found: string | undefined
  /** Debian or Ubuntu, and we may install packages. */
  readonly mayInstall: boolean
}

export type ChromiumChoice =
  | { readonly way: 'found'; readonly path: string }
  | { readonly way: 'install' }
  | { readonly way: 'none'; readonly message: string }

/** Names under which distributions and vendors install it. */
export const CHROMIUM_NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'] as const

export const INSTALL_CHROMIUM = installing('chromium', 'fonts-dejavu-core')

export function chooseChromium({ found, mayInstall }: BrowserMachine): ChromiumChoice {
  if (found !== undefined) return { way: 'found', path: found }
  if (mayInstall) return { way: 'install' }
  return {
    way: 'none',
    message:
      'The tests of the console need a Chromium on the PATH. Type: sudo apt-get install chromium   (or: brew install --cask chromium)',
  }
}
