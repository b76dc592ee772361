/** Reads a request to the admin API: its head, its body, and the input of its route. */
import type { IncomingMessage } from 'node:http'
import { type RawRequest, splitTarget } from '../http/raw-request.ts'
import { Fault } from '../model/faults.ts'
import { decodeInput } from './input.ts'
import type { RouteMatch } from './route.ts'

const BODY_BYTES_MAX = 2 ** 20

export function rawRequest(message: IncomingMessage): RawRequest {
  const headers: [string, string][] = []
  const { rawHeaders } = message
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers.push([rawHeaders[i]!, rawHeaders[i + 1]!])
  return { method: message.method ?? '', target: message.url ?? '', headers }
}

export const bytesOf = (message: IncomingMessage): AsyncIterable<Buffer> => ({
  [Symbol.asyncIterator]: () => message.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>,
})

export async function inputOf(
  { route, path }: RouteMatch,
  request: RawRequest,
  body: AsyncIterable<Buffer>,
  message: IncomingMessage,
): Promise<Record<string, unknown>> {
  if (Number(message.headers['content-length'] ?? 0) > BODY_BYTES_MAX) throw new Fault('EntityTooLarge')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > BODY_BYTES_MAX) throw new Fault('EntityTooLarge')
    chunks.push(chunk)
  }
  const query = new Map(new URLSearchParams(splitTarget(request.target).query))
  return decodeInput(route.input, { path, query, body: size === 0 ? {} : jsonObject(Buffer.concat(chunks)) })
}

function jsonObject(bytes: Buffer): Readonly<Record<string, unknown>> {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    // The parser's own message quotes its input, which may contain a secret.
    throw new Fault('InvalidArgument', { reason: 'The body is not valid JSON.' })
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new Fault('InvalidArgument', { reason: 'The body is not a JSON object.' })
  }
  return parsed as Readonly<Record<string, unknown>>
}
