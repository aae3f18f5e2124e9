/**
 * The page's own files: an explicit list, made when the process starts, so that no address can name any other file.
 * They hold no data and are answered without a login; the page itself is sent to who is logged in.
 */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

const PAGE = path.join(import.meta.dirname, 'page')
const CHART_LIBRARY = path.join(path.dirname(fileURLToPath(import.meta.resolve('uplot/package.json'))), 'dist')
const CHART_FILES = ['uPlot.esm.js', 'uPlot.min.css']
const SERVED = /\.(?:js|css|svg)$/

export async function addPages(app: FastifyInstance): Promise<void> {
  await app.register(fastifyStatic, { root: PAGE, serve: false })
  const add = (url: string, file: string, { open, from = PAGE }: { open: boolean; from?: string }) =>
    // Each file has a count of its own: one opening of the page asks for all of them, and behind a proxy all people share
    // its address.
    app.get(url, { config: { open, rateLimit: {} } }, (_, reply) => {
      // Looked at again each time, so that an upgrade shows at once; the answer is short while nothing has changed.
      reply.header('Cache-Control', 'no-cache')
      return reply.sendFile(file, from, { cacheControl: false })
    })
  add('/', 'index.html', { open: false })
  add('/login', 'login.html', { open: true })
  for (const file of readdirSync(PAGE).filter((name) => SERVED.test(name))) add(`/page/${file}`, file, { open: true })
  for (const file of CHART_FILES) add(`/page/uplot/${file}`, file, { open: true, from: CHART_LIBRARY })
}
