/**
 * The reporting service of the deployment's test, in a container: the sandbox behind TLS on port 7443. Workers speak
 * plain http only on loopback. The certificate is in the folder of this file.
 */
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createServer } from 'node:tls'
import { startSandbox } from '../../src/sandbox/server.ts'
import { SCOPES } from '../../src/sandbox/reports/index.ts'

const PORT = 7_718
const pem = (name: string) => readFileSync(new URL(`./${name}.pem`, import.meta.url))

await startSandbox({
  port: PORT,
  rows: 600,
  changesPerSecond: 2,
  clients: [{ clientId: 'acme', clientSecret: process.env['CLIENT_SECRET'] ?? '', scopes: SCOPES }],
})
const server = createServer({ key: pem('key'), cert: pem('cert') }, (outside) => {
  const inside = connect(PORT, '127.0.0.1')
  outside.on('error', () => inside.destroy())
  inside.on('error', () => outside.destroy())
  outside.pipe(inside).pipe(outside)
})
server.listen(7_443)
process.once('SIGTERM', () => process.exit(0))
