/** The first file that `import … from 'tidemark'` loads. It is JavaScript, so that an old Node can print the error. */
import { createRequire } from 'node:module'
import path from 'node:path'
import { isOldNode, NODE_NEEDED } from '../../bin/nodeVersion.js'

if (isOldNode) {
  const program = path.relative('', process.argv[1] ?? 'program.js')
  const cure = `Start this program with "npx node ${program}": npm has installed a newer Node with Tidemark on Linux. Elsewhere, install a newer Node.`
  const error = new Error(
    `The library tidemark needs Node ${NODE_NEEDED} or newer, this is ${process.version}. ${cure}`,
  )
  // Node would print the stack, which does not help the user.
  error.stack = `Error: ${error.message}`
  throw error
}

const library = createRequire(import.meta.url)('./index.ts')
export const { boolean, dateTime, decimal, integer, json, string } = library
export const { defineReport, many, manyOf, one, openTidemark, startSandbox, SyncError, errorCodes } = library
