/** The admin API as commands use it, over HTTP or in this process. */
import type { AdminInput } from '../admin/input.ts'
import type { Route } from '../admin/route.ts'

export type Input = Readonly<Record<string, unknown>>

export interface Admin {
  /** Calls a route by its name and returns its result. */
  ask(route: string, input?: Input): Promise<Record<string, unknown>>
  /** As `ask`, for results that are streamed by line. */
  lines(route: string, input?: Input): AsyncIterable<string>
  /** As `ask`, for results that are a stream of bytes. */
  bytes(route: string, input?: Input): AsyncIterable<Buffer>
  close(): Promise<void>
}

/** Puts each value where the route reads it: in the path, the query or the body. */
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
