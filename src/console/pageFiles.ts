/** Serves the page's files from a fixed list, so that no URL reaches another file. Sets security headers. */
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import helmet from '@fastify/helmet'

const PAGE = path.join(import.meta.dirname, 'page')
const SERVED = /\.(?:js|css|svg)$/
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
    // Each file has its own rate limit, because one visit loads all files.
    app.get(url, { config: { open, rateLimit: {} } }, (_, reply) => {
      reply.header('Cache-Control', 'no-cache')
      return reply.sendFile(path.basename(file), path.dirname(file), { cacheControl: false })
    })
  const inPage = (file: string) => path.join(PAGE, file)
  add('/', inPage('index.html'), { open: false })
  add('/login', inPage('login.html'), { open: true })
  // Redirects addresses such as `/runs` to `/#/runs`.
  for (const view of ['reports', 'runs', 'rejected', 'backfills'])
    for (const url of [`/${view}`, `/${view}/:name`])
      app.get(url, (request, reply) => reply.redirect(`/#${request.url}`))
  for (const file of readdirSync(PAGE).filter((name) => SERVED.test(name)))
    add(`/page/${file}`, inPage(file), { open: true })
  for (const [name, library] of Object.entries(LIBRARIES))
    add(`/page/libraries/${name}`, fileURLToPath(import.meta.resolve(library)), { open: true })
}

const SELF = ["'self'"]

export async function addHeaders(app: FastifyInstance): Promise<void> {
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: SELF,
        styleSrc: SELF,
        imgSrc: ["'self'", 'data:'],
        fontSrc: SELF,
        connectSrc: SELF,
        formAction: SELF,
        baseUri: SELF,
        frameAncestors: ["'none'"],
      },
    },
    frameguard: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
    // Leaves this header out: browsers ignore it over plain HTTP, which the console uses.
    strictTransportSecurity: false,
  })
  app.addHook('onRequest', async (_, reply) => {
    reply.header('Cache-Control', 'no-store')
    reply.header('Permissions-Policy', 'camera=(), microphone=(), geolocation=()')
  })
}
