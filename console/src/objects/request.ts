/** Sends signed requests to the object API and reads its XML. */
import { ApiFailure, unreachable } from '../api/failure.ts'
import { texts } from '../texts/texts.ts'
import { crc32Base64 } from './crc32.ts'
import { type ObjectRequest, presign } from './presign.ts'

interface SendOptions {
  readonly body?: BodyInit
  readonly signal?: AbortSignal | undefined
  /** Headers that need no signature. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Fails unless the response is a success. */
export async function send(request: ObjectRequest, options: SendOptions = {}): Promise<Response> {
  const { method, url, headers } = await presign(request)
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...options.headers },
    credentials: 'omit',
    // The console shows the present state, not what the browser remembers of it. With a write, the browser would send
    // this as a header, which the server stores with the object.
    ...(method === 'GET' || method === 'HEAD' ? { cache: 'no-store' as const } : {}),
    ...(options.body === undefined ? {} : { body: options.body }),
    ...(options.signal ? { signal: options.signal } : {}),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw unreachable(texts.errors.objectApiUnreachable)
  })
  if (!response.ok) {
    throw objectFailure(response.status, await response.text(), response.headers.get('x-amz-request-id') ?? undefined)
  }
  return response
}

export async function sendForXml(request: ObjectRequest, options: SendOptions = {}): Promise<Element> {
  const response = await send(request, options)
  return rootOf(await response.text())
}

/** Documents carry a checksum, without which the server refuses some of them. */
export function sendDocument(request: ObjectRequest, body: string): Promise<Response> {
  const headers = { ...request.headers, 'x-amz-checksum-crc32': crc32Base64(body) }
  return send({ ...request, headers }, { body, headers: { 'content-type': 'application/xml' } })
}

/** A long operation may report its error in a response that began as a success. */
export function rootOf(text: string): Element {
  const root = parsed(text)
  if (root.localName === 'Error') throw objectFailure(500, text, undefined)
  return root
}

/** Responses to HEAD carry no document. */
const CODES: Readonly<Record<number, string>> = { 403: 'AccessDenied', 404: 'NoSuchKey' }

export function objectFailure(status: number, text: string, headerId: string | undefined): ApiFailure {
  // Parsing what is not XML makes the browser build an error page with styles, which the page's policy forbids.
  const root = text.startsWith('<') ? parsed(text) : document.createElement('none')
  const code = textIn(root, 'Code') ?? CODES[status] ?? String(status)
  const requestId = textIn(root, 'RequestId') ?? headerId
  const message = textIn(root, 'Message') ?? texts.errors.withoutBody[code] ?? texts.errors.noDetails(status)
  return new ApiFailure({ status, code, message, requestId, condition: textIn(root, 'Condition') })
}

const parsed = (text: string): Element => new DOMParser().parseFromString(text, 'application/xml').documentElement

export const childrenOf = (parent: Element, name: string): Element[] =>
  [...parent.children].filter(child => child.localName === name)

/** The text of the first child of this name. */
export const textIn = (parent: Element, name: string): string | undefined =>
  childrenOf(parent, name)[0]?.textContent ?? undefined

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

export const escapeXml = (text: string): string =>
  text.replace(/[&<>"]/g, char => ESCAPES[char]!).replace(/\p{Cc}/gu, char => `&#x${char.charCodeAt(0).toString(16)};`)
