/** Generates the OpenAPI description of the admin API from its routes. */
import { objectSchema, type Schema } from './input.ts'
import type { Route } from './route.ts'

type Json = Readonly<Record<string, unknown>>

const FAULT: Schema = {
  type: 'object',
  required: ['code', 'message', 'requestId'],
  properties: { code: { type: 'string' }, message: { type: 'string' }, requestId: { type: 'string' } },
}

const json = (schema: Json | Schema): Json => ({ 'application/json': { schema } })

function parameters(route: Route): Json[] {
  return Object.entries(route.input)
    .filter(([, field]) => field.place !== 'body')
    .map(([name, { place, required, schema }]) => ({ name, in: place, required, schema }))
}

function requestBody(route: Route): Json | undefined {
  const fields = Object.entries(route.input).filter(([, field]) => field.place === 'body')
  if (fields.length === 0) return undefined
  const schema = objectSchema(Object.fromEntries(fields))
  return { required: schema.required !== undefined, content: json(schema) }
}

function security({ permission }: Route): Json | undefined {
  if (permission === 'anyone' || permission === 'sign-in') return { security: [] }
  return permission === 'signed-in' ? { security: [{ session: [], token: [] }, { signature: [] }] } : undefined
}

function operation(route: Route): Json {
  const body = requestBody(route)
  const answer =
    route.status === 204
      ? { description: 'Success' }
      : { description: 'Success', content: json(route.answer ?? { type: 'object' }) }
  return {
    operationId: route.name,
    summary: route.summary,
    'x-permission': route.permission,
    ...(security(route) ?? {}),
    parameters: parameters(route),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: {
      [route.status]: answer,
      ...(route.isPending === undefined ? {} : { 202: { ...answer, description: 'Still in progress; ask again' } }),
      '4XX': {
        description: 'The request is not valid or not allowed',
        content: json({ $ref: '#/components/schemas/Fault' }),
      },
      default: { description: 'Error', content: json({ $ref: '#/components/schemas/Fault' }) },
    },
  }
}

export function openApi(routes: readonly Route[]): Json {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const at = paths[route.path] ?? {}
    at[route.method.toLowerCase()] = operation(route)
    paths[route.path] = at
  }
  return {
    openapi: '3.0.3',
    info: {
      title: 'Holdfast admin API',
      version: '1',
      description: 'Accounts, users, keys, buckets, policies, locks, encryption keys, backups and the server itself.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    servers: [{ url: '/', description: 'The server that this description comes from' }],
    security: [{ signature: [] }, { session: [], token: [] }],
    paths,
    components: {
      schemas: { Fault: FAULT },
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'holdfast-session',
          description: 'Set by SignIn; the port follows the name, and over TLS the prefix __Host- precedes it.',
        },
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'x-holdfast-console',
          description: 'The token that SignIn returned. Every request with a session carries it.',
        },
        signature: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'SVC4-HMAC-SHA256 or AWS4-HMAC-SHA256 over the request, for the service "admin".',
        },
      },
    },
  }
}
