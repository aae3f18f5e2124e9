/**
 * Serves the files of the page. The list is fixed when the process starts, so no address can reach any other file. The
 * files contain no data and need no login, except the page itself.
 */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

const PAGE = path.join(import.meta.dirname, 'page')
const SERVED = /\.(?:js|css|svg)$/
/** Libraries that the page imports, by the name under /page/libraries. */
const LIBRARIES = {
  'htm.js': 'htm',
  'preact.js': 'preact',
  'pico.css': '@picocss/pico/css/pico.cyan.min.css',
  'uplot.js': 'uplot/dist/uPlot.esm.js',
  'uplot.css': 'uplot/dist/uPlot.min.css',
}

export async function addPageFiles(app: FastifyInstance): Promise<void> {
  await app.register(fastifyStatic, { root: PAGE, serve: false })
  const add = (url: string, file: string, { open }: { open: boolean }) =>
    // Opening the page requests every file once, and behind a proxy all users have the same address. So each file has
    // its own rate limit.
    app.get(url, { config: { open, rateLimit: {} } }, (_, reply) => {
      // With `no-cache` the browser revalidates each file, so that a new version is visible at once.
      reply.header('Cache-Control', 'no-cache')
      return reply.sendFile(path.basename(file), path.dirname(file), { cacheControl: false })
    })
  const inPage = (file: string) => path.join(PAGE, file)
  add('/', inPage('index.html'), { open: false })
  add('/login', inPage('login.html'), { open: true })
  for (const file of readdirSync(PAGE).filter((name) => SERVED.test(name)))
    add(`/page/${file}`, inPage(file), { open: true })
  for (const [name, library] of Object.entries(LIBRARIES))
    add(`/page/libraries/${name}`, fileURLToPath(import.meta.resolve(library)), { open: true })
}
