/** The API as Fastify routes with zod schemas. The OpenAPI document is generated from the schemas. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import swagger from '@fastify/swagger'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { jsonSchemaTransform, jsonSchemaTransformObject, validatorCompiler } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { SyncError } from '../../errors.ts'
import { Problem } from '../../status/standing.ts'

export type Api = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>

const DESCRIPTION =
  'What the console shows and does. Machines send the token as "Authorization: Bearer …"; a page logs in and sends the header x-tidemark-console with every request that acts.'

const Failure = z.object({ error: Problem }).meta({ id: 'Failure' })

/** Prepares Fastify for zod schemas and serves the OpenAPI document. */
export async function createApi(app: FastifyInstance, version: string): Promise<Api> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Tidemark console', version, description: DESCRIPTION },
      security: [{ token: [] }, { session: [] }],
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer' },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: 'tidemark',
            description: 'Set by POST /api/session; its name ends with the port.',
          },
        },
      },
    },
    transform: (input) => {
      const { schema, route } = input
      if (schema === undefined) return { schema: { hide: true }, url: input.url }
      const isOpen = route.config?.open === true
      const operation = {
        ...schema,
        operationId: operationId(String(route.method), input.url),
        ...(isOpen && { security: [] }),
        response: described(schema.response as Answers),
      }
      return jsonSchemaTransform({ ...input, schema: operation })
    },
    transformObject: jsonSchemaTransformObject,
  })
  app.setValidatorCompiler(validatorCompiler as never)
  // Responses are not validated at run time, because the tests compare real responses with the schemas.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer))
  app.get('/api/openapi.json', () => app.swagger())
  return app.withTypeProvider<ZodTypeProvider>()
}

type Answers = Readonly<Record<number, z.ZodType>>

const described = ({ 200: done, 202: begun }: Answers) => ({
  ...(done && { 200: answer('Done', done) }),
  ...(begun && { 202: answer('It goes on', begun) }),
  default: answer('What went wrong and what to do', Failure),
})

const answer = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': { schema } },
})

export const answers = <Answer extends z.ZodType, Input extends RouteInput>(
  answer: Answer,
  summary: string,
  input?: Input,
) => ({ schema: { summary, ...(input as Input), response: { 200: answer } } })

/** Returns a function that runs `work` for at most `max` requests at a time. Further calls throw CONSOLE_LIMITED. */
export function limitedTo(max: number, what = 'requests are already open') {
  let open = 0
  return async <T>({ raw }: FastifyReply, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    if (open >= max) throw new SyncError('CONSOLE_LIMITED', `${max} ${what}`, { cure: 'Try again in a minute.' })
    const left = new AbortController()
    // If the client has already disconnected, no `close` event follows.
    if (raw.destroyed) left.abort(clientLeft())
    raw.once('close', () => left.abort(clientLeft()))
    open += 1
    return work(left.signal).finally(() => (open -= 1))
  }
}

export const clientLeft = (): SyncError =>
  new SyncError('CANCELLED', 'the client closed the connection', { cure: 'Send the request again.' })

interface RouteInput {
  readonly params?: z.ZodType
  readonly querystring?: z.ZodType
  readonly body?: z.ZodType
}

/** Returns the name of an operation in the OpenAPI document, such as `getApiRunsRun` for `GET /api/runs/:run`. */
const operationId = (method: string, url: string): string =>
  `${method.toLowerCase()}${url.replaceAll(/[^a-z]+(\w)/gi, (_, first: string) => first.toUpperCase())}`
