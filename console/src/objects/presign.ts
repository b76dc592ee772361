/**
 * Requests to the object API. The admin API signs them, and the browser sends them itself, so that bytes of objects
 * never pass through the console's server. Requests of the same moment are signed together.
 */
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'

type Presigning = AdminApi['PresignRequests']

/** A sub-resource is a query with an empty value; the signature must cover all headers that begin with x-amz-. */
export type ObjectRequest = Presigning['input']['requests'][number]
type SignedRequest = Presigning['output']['requests'][number]

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
    for (const [i, one] of batch.entries()) one.resolve(requests[i]!)
  } catch (error) {
    for (const one of batch) one.reject(error)
  }
}
