/**
 * Requests to the object API. The admin API signs them, and the browser sends them itself, so that bytes of objects
 * never pass through the console's server. Requests of the same moment are signed together.
 */
import { call } from '../api/client.ts'

export interface ObjectRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  readonly bucket?: string
  readonly key?: string
  /** A sub-resource has an empty value. */
  readonly query?: Readonly<Record<string, string>>
  /** Headers that the signature covers: all that begin with x-amz-. */
  readonly headers?: Readonly<Record<string, string>>
  readonly expiresInSeconds?: number
}

export interface SignedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

interface Waiting {
  readonly request: ObjectRequest
  readonly resolve: (signed: SignedRequest) => void
  readonly reject: (error: unknown) => void
}

const TOGETHER_MAX = 1000
let waiting: Waiting[] = []

export function presign(request: ObjectRequest): Promise<SignedRequest> {
  return new Promise((resolve, reject) => {
    waiting.push({ request, resolve, reject })
    if (waiting.length === 1) queueMicrotask(flush)
  })
}

function flush(): void {
  const all = waiting
  waiting = []
  for (let start = 0; start < all.length; start += TOGETHER_MAX) void sign(all.slice(start, start + TOGETHER_MAX))
}

async function sign(batch: readonly Waiting[]): Promise<void> {
  try {
    const { requests } = await call('PresignRequests', { requests: batch.map(({ request }) => request) })
    for (const [i, one] of batch.entries()) one.resolve(requests[i] as SignedRequest)
  } catch (error) {
    for (const one of batch) one.reject(error)
  }
}
