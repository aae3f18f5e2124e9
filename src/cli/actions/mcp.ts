/** `tidemark mcp`: serves the published copy to an assistant over standard input and output. */
import { once } from 'node:events'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { mcpServer } from '../../reader/mcpServer.ts'
import { openReader } from '../../reader/reader.ts'
import { version } from '../../wiring/version.ts'
import type { Action } from '../shell.ts'

export const mcp: Action = async ({ stop, err }, { config }) => {
  stop.endsWell()
  await using reader = openReader(config)
  const closed = Promise.race([once(process.stdin, 'close'), once(process.stdin, 'end'), once(stop.signal, 'abort')])
  const serving = serveStdio(() => mcpServer(reader, version()), {
    onerror: ({ message }) => err.write(`mcp: ${message}\n`),
  })
  await closed
  await serving.close()
  return 0
}
