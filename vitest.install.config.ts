/** The installation of the package by npm, which needs the registry: `npm run test:install`. `npm test` leaves it out. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/install/**/*.test.ts'],
    reporters: ['default', './test/support/countReporter.ts'],
  },
})
