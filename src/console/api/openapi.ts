/** The OpenAPI document, made from the endpoints themselves. */
import { z } from 'zod'
import type { Endpoint } from './endpoint.ts'
import { Problem } from './shapes.ts'

type Json = Readonly<Record<string, unknown>>

export function openapiOf(endpoints: readonly Endpoint[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {}
  for (const each of endpoints) {
    const path = each.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [each.method.toLowerCase()]: operationOf(each) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tidemark console',
      version,
      description:
        'What the console shows and does. Machines send the token as "Authorization: Bearer …"; a page logs in and sends the header x-tidemark-console with every request that acts.',
    },
    security: [{ token: [] }, { session: [] }],
    paths,
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
      schemas: { Failure: schemaOf(z.object({ error: Problem }), 'output') },
    },
  }
}

function operationOf({ method, path, summary, open = false, params, query, body, answer }: Endpoint): Json {
  const parameters = [...parametersOf(params, 'path'), ...parametersOf(query, 'query')]
  const failure = {
    description: 'What went wrong and what to do',
    content: jsonOf({ $ref: '#/components/schemas/Failure' }),
  }
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[^a-z]+(\w)/gi, (_, first: string) => first.toUpperCase())}`,
    summary,
    ...(open && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: jsonOf(schemaOf(body, 'input')) } }),
    responses: {
      200: { description: 'Done', content: jsonOf(schemaOf(answer, 'output')) },
      ...(method === 'POST' && { 202: { description: 'It goes on', content: jsonOf(schemaOf(answer, 'output')) } }),
      default: failure,
    },
  }
}

const jsonOf = (schema: Json): Json => ({ 'application/json': { schema } })

function schemaOf(type: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io, unrepresentable: 'any' })
  return schema
}

function parametersOf(type: z.ZodType | undefined, place: 'path' | 'query'): Json[] {
  if (type === undefined) return []
  const { properties = {}, required = [] } = schemaOf(type, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema,
  }))
}
