/** Where the tests' Chromium comes from: the order of choices, and that none of them is to skip. */
import { describe, expect, it } from 'vitest'
import { chooseChromium } from '../support/chromiumChoice.ts'

describe("the tests' Chromium", () => {
  it('is one on the PATH, else one that is installed, else the one line to type', () => {
    expect(chooseChromium({ found: '/usr/bin/chromium', mayInstall: true })).toEqual({
      way: 'found',
      path: '/usr/bin/chromium',
    })
    expect(chooseChromium({ found: undefined, mayInstall: true })).toEqual({ way: 'install' })
    const none = chooseChromium({ found: undefined, mayInstall: false })
    expect(none).toMatchObject({
      way: 'none',
      message: expect.stringMatching(/^[^\n]*install chromium[^\n]*$/) as string,
    })
  })
})
