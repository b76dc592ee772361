/** What commands ask: the routes of the admin API, wherever they run. */
import type { AdminInput } from '../admin/input.ts'
import type { Route } from '../admin/route.ts'

export type Input = Readonly<Record<string, unknown>>

export interface Admin {
  /** Runs a route of the admin API by its name and returns its answer. */
  ask(route: string, input?: Input): Promise<Record<string, unknown>>
  /** The same, for answers that come in lines. */
  lines(route: string, input?: Input): AsyncIterable<string>
  /** The same, for bytes. */
  bytes(route: string, input?: Input): AsyncIterable<Buffer>
  close(): Promise<void>
}

/** Each value at the place where a request would have it. */
export function placed(route: Route, input: Input): AdminInput {
  const path = new Map<string, string>()
  const query = new Map<string, string>()
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue
    const place = route.input[name]?.place
    if (place === 'path') path.set(name, String(value))
    else if (place === 'query') query.set(name, String(value))
    else body[name] = value
  }
  return { path, query, body }
}
