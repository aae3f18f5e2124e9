/**
 * What browsers are told to forbid: nothing from elsewhere, no script or style in the page's own text, no frame around
 * it, no address passed on. bull-board's page lives with it too; the fonts that it would fetch elsewhere are left out.
 */
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

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
    // It speaks HTTP on loopback; a proxy with TLS says this for itself.
    strictTransportSecurity: false,
  })
  app.addHook('onRequest', async (_, reply) => {
    reply.header('Cache-Control', 'no-store')
    reply.header('Permissions-Policy', 'camera=(), microphone=(), geolocation=()')
  })
}
