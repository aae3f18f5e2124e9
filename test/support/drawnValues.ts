/** Makes the property tests draw the same values on each run (docs/TESTING.md). */
import * as fc from 'fast-check'

const chosen = process.env['TIDEMARK_TEST_SEED'] ?? '1'
if (chosen !== 'random') fc.configureGlobal({ seed: Number(chosen) })
