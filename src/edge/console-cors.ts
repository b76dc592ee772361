/**
 * CORS for the server's own console, whose page sends presigned requests to the object API. It needs no rule of a
 * bucket and grants nothing to other origins: they get what the bucket's rules say.
 */
import { headerValues } from '../http/raw-request.ts'
import type { Header } from '../operations/context.ts'
import type { Exchange } from './exchange.ts'
import { hostOf } from './wire-form.ts'

export interface ConsoleOrigins {
  /** The port of the console on this server; undefined as long as it does not listen. */
  readonly port: number | undefined
  /** Further origins of the console, by configuration. */
  readonly urls: readonly string[]
}

const METHODS = 'GET, HEAD, PUT, POST, DELETE'
const PREFLIGHT_SECONDS = 600

/** The page and the request name the same host, and the port of the page is the console's. */
function isConsole(origin: string, { request, secure }: Exchange, { port, urls }: ConsoleOrigins): boolean {
  if (urls.includes(origin)) return true
  if (!URL.canParse(origin)) return false
  const { protocol, hostname, port: sent } = new URL(origin)
  const scheme = secure ? 'https:' : 'http:'
  const isPort = Number(sent || (secure ? 443 : 80)) === port
  return protocol === scheme && isPort && hostname === hostOf(request).toLowerCase()
}

/** Credentials are never allowed, since presigned requests need none. Empty for other origins. */
export function consoleCors(exchange: Exchange, origins: ConsoleOrigins | undefined): Header[] {
  const [origin, ...more] = headerValues(exchange.request, 'origin')
  if (origins === undefined || origin === undefined || more.length > 0) return []
  if (!isConsole(origin, exchange, origins)) return []
  const [requestHeaders] = headerValues(exchange.request, 'access-control-request-headers')
  return [
    ['access-control-allow-origin', origin],
    ['access-control-allow-methods', METHODS],
    ['access-control-allow-headers', requestHeaders],
    ['access-control-expose-headers', '*'],
    ['access-control-max-age', PREFLIGHT_SECONDS],
    ['vary', 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method'],
  ]
}
