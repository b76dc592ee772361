/** Sends bytes with progress. `fetch` does not report how much of a body was sent, so this is an XMLHttpRequest. */
import { unreachable } from '../api/failure.ts'
import { type ObjectRequest, presign } from '../objects/presign.ts'
import { objectFailure } from '../objects/request.ts'
import { texts } from '../texts/texts.ts'

interface TransferOptions {
  readonly signal: AbortSignal
  readonly onProgress: (bytes: number) => void
  readonly contentType?: string
}

/** Returns the ETag. */
export async function transfer(request: ObjectRequest, body: Blob, options: TransferOptions): Promise<string> {
  const { signal, onProgress, contentType } = options
  const { method, url, headers } = await presign(request)
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const exchange = new XMLHttpRequest()
    const abort = (): void => exchange.abort()
    signal.addEventListener('abort', abort, { once: true })
    exchange.open(method, url)
    for (const [name, value] of Object.entries(headers)) exchange.setRequestHeader(name, value)
    if (contentType !== undefined) exchange.setRequestHeader('content-type', contentType)
    exchange.upload.onprogress = event => onProgress(event.loaded)
    exchange.onload = () => {
      const requestId = exchange.getResponseHeader('x-amz-request-id') ?? undefined
      if (exchange.status < 300) resolve(exchange.getResponseHeader('etag') ?? '')
      else reject(objectFailure(exchange.status, exchange.responseText, requestId))
    }
    exchange.onerror = () => void failureOf(body).then(reject)
    exchange.onabort = () => reject(new DOMException('aborted', 'AbortError'))
    exchange.onloadend = () => signal.removeEventListener('abort', abort)
    exchange.send(body)
  })
}

/** A file that cannot be read fails as a lost connection does, but another try would not help. */
async function failureOf(body: Blob): Promise<Error> {
  try {
    await body.slice(0, 1).arrayBuffer()
    return unreachable(texts.errors.objectApiUnreachable)
  } catch (error) {
    return error as DOMException
  }
}

/** Waits, or fails as soon as the signal is aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer)
      reject(new DOMException('aborted', 'AbortError'))
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, milliseconds)
    signal.addEventListener('abort', abort, { once: true })
  })
}
