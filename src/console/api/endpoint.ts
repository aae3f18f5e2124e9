/**
 * An endpoint is one declaration: its path, what it takes, what it answers and what it does. Routes and the OpenAPI
 * document are made from the same list, so neither can say what the other does not.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { SyncError } from '../../errors.ts'
import type { ConsoleBackend } from '../backend.ts'

export interface Asked<Params, Query, Body> {
  readonly backend: ConsoleBackend
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export interface Declared<Params, Query, Body, Result> {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** `/api/runs/:run` */
  readonly path: string
  readonly summary: string
  /** Answered without a login. */
  readonly open?: boolean
  readonly params?: z.ZodType<Params>
  readonly query?: z.ZodType<Query>
  readonly body?: z.ZodType<Body>
  readonly answer: z.ZodType<Result>
  readonly does: (asked: Asked<Params, Query, Body>) => Promise<Result>
}

/** One whose types were checked where it is declared. */
export interface Endpoint extends Omit<Declared<unknown, unknown, unknown, unknown>, 'does'> {
  readonly does: (asked: Asked<unknown, unknown, unknown>) => Promise<unknown>
}

export function endpoint<Params = unknown, Query = unknown, Body = unknown, Result = unknown>(
  declared: Declared<Params, Query, Body, Result>,
): Endpoint {
  const does = (asked: Asked<unknown, unknown, unknown>) => declared.does(asked as Asked<Params, Query, Body>)
  return { ...declared, does }
}

export function addEndpoints(
  app: FastifyInstance,
  endpoints: readonly Endpoint[],
  backendOf: () => ConsoleBackend,
): void {
  for (const { method, path, open = false, does, ...shapes } of endpoints) {
    app.route({
      method,
      url: path,
      config: { open },
      handler: async (request, reply) => {
        const params = checked(shapes.params, request.params, 'path')
        const query = checked(shapes.query, request.query, 'query')
        const body = checked(shapes.body, request.body, 'body')
        return does({ backend: backendOf(), params, query, body, request, reply })
      },
    })
  }
}

/** Error: USAGE_INVALID, with every mistake. */
function checked(shape: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (shape === undefined) return undefined
  const parsed = shape.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || where}: ${message}`)
  throw new SyncError('USAGE_INVALID', `the request is not understood: ${problems.join('; ')}`, {
    cure: 'Correct it; /api/openapi.json says what each address takes.',
  })
}
