/**
 * Generates the console's view of the admin API from its OpenAPI description: `node scripts/console-client.mjs` writes
 * console/src/api/admin-api.ts. A test compares the file with the routes, so it cannot fall behind.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BIOME, build, installMissing, ROOT, succeeds } from './runtime.mjs'

const TARGET = join(ROOT, 'console', 'src', 'api', 'admin-api.ts')
const METHODS = ['get', 'post', 'put', 'patch', 'delete']
const HEAD = `/** Generated from the admin API's description by scripts/console-client.mjs; \`npm run console-client\` renews it. */

`

const isPlain = name => /^[A-Za-z_$][\w$]*$/.test(name)
const quoted = text => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function typeOf(schema = {}) {
  const type = bareType(schema)
  return schema.nullable === true ? `${type} | null` : type
}

function bareType(schema) {
  if (schema.enum !== undefined) return schema.enum.map(quoted).join(' | ')
  if (schema.oneOf !== undefined) return schema.oneOf.map(typeOf).join(' | ')
  if (schema.type === 'array') return `readonly (${typeOf(schema.items)})[]`
  if (schema.type === 'object') return objectType(schema)
  if (schema.type === 'integer' || schema.type === 'number') return 'number'
  return schema.type === 'string' || schema.type === 'boolean' ? schema.type : 'unknown'
}

function objectType({ properties, required = [], additionalProperties }) {
  if (properties === undefined) {
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown'
    return `Readonly<Record<string, ${value}>>`
  }
  const fields = Object.entries(properties).map(
    ([name, schema]) =>
      `readonly ${isPlain(name) ? name : quoted(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  )
  return fields.length === 0 ? 'Readonly<Record<string, never>>' : `{ ${fields.join('; ')} }`
}

function operationsOf({ paths }) {
  return Object.entries(paths)
    .flatMap(([path, at]) => METHODS.filter(method => at[method]).map(method => ({ path, method, ...at[method] })))
    .sort((one, other) => (one.operationId < other.operationId ? -1 : 1))
}

function inputOf({ parameters, requestBody }) {
  const body = requestBody?.content['application/json'].schema ?? { properties: {} }
  const places = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]))
  const required = [...parameters.filter(one => one.required).map(one => one.name), ...(body.required ?? [])]
  return objectType({ properties: { ...places, ...body.properties }, required })
}

function outputOf({ responses }) {
  const [, success] = Object.entries(responses).find(([status]) => /^20[014]$/.test(status)) ?? []
  const schema = success?.content?.['application/json']?.schema
  return schema === undefined ? 'undefined' : typeOf(schema)
}

/** The text of the file, before the formatter. */
export function consoleClient(description) {
  const operations = operationsOf(description)
  const types = operations.map(
    one => `/** ${one.summary}. */\n${one.operationId}: { input: ${inputOf(one)}; output: ${outputOf(one)} }`,
  )
  const rows = operations.map(one => {
    const query = one.parameters.filter(parameter => parameter.in === 'query').map(({ name }) => quoted(name))
    return `${one.operationId}: { method: '${one.method.toUpperCase()}', path: ${quoted(one.path)}, query: [${query}] },`
  })
  return `${HEAD}export interface AdminApi {\n${types.join('\n')}\n}

export const ADMIN_API = {\n${rows.join('\n')}
} as const satisfies Record<keyof AdminApi, { method: string; path: string; query: readonly string[] }>\n`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  installMissing()
  build()
  const { ADMIN_ROUTES, openApi } = {
    ...(await import(join(ROOT, 'dist', 'src', 'admin', 'index.js'))),
    ...(await import(join(ROOT, 'dist', 'src', 'admin', 'openapi.js'))),
  }
  writeFileSync(TARGET, consoleClient(openApi(ADMIN_ROUTES.routes)))
  if (!succeeds(process.execPath, [BIOME, 'format', '--write', TARGET])) process.exitCode = 1
}
