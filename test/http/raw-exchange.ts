/** One raw request on its own connection, and a strict check of all bytes received until it closes. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'

export const TRANSPORTS = ['plain', 'TLS'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** How a client requests that its connection be closed. */
export const CONNECTIONS = ['keep-alive', 'close', 'HTTP/1.0'] as const
export type ConnectionKind = (typeof CONNECTIONS)[number]

export async function open(port: number, transport: Transport): Promise<Socket> {
  if (transport === 'plain') {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  return socket
}

/** Everything the server sends until the connection closes. */
export async function received(socket: Socket): Promise<Buffer> {
  const pieces: Buffer[] = []
  socket.on('error', () => {})
  socket.on('data', chunk => pieces.push(chunk))
  await new Promise<void>(resolve => socket.on('close', () => resolve()))
  return Buffer.concat(pieces)
}

const HEAD_END = '\r\n\r\n'
const LAST_CHUNK = '\r\n0\r\n\r\n'

/** The same, but a kept-alive connection ends after one whole response. */
function receivedOnce(socket: Socket): Promise<Buffer> {
  let head = ''
  let isHead = true
  let total = Number.POSITIVE_INFINITY
  let count = 0
  let tail = ''
  socket.on('data', chunk => {
    count += chunk.length
    tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - LAST_CHUNK.length))).slice(-LAST_CHUNK.length)
    if (isHead) {
      head += chunk.toString('latin1')
      const end = head.indexOf(HEAD_END)
      isHead = end < 0
      const length = /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, Math.max(0, end)))?.[1]
      if (length !== undefined) total = end + HEAD_END.length + Number(length)
    }
    const isLastChunk = total === Number.POSITIVE_INFINITY && tail === LAST_CHUNK
    if (count >= total || isLastChunk) socket.destroy()
  })
  return received(socket)
}

export interface Judged {
  /**
   * `nothing`: the connection closed without a byte. `incomplete`: the framing shows that bytes are missing.
   * `unbounded`: a body that ends with the connection, so that completeness cannot be checked.
   */
  readonly kind: 'nothing' | 'incomplete' | 'unbounded' | 'complete'
  readonly status: number
  readonly body: Buffer
}

function unchunked(bytes: Buffer): { readonly body: Buffer; readonly isWhole: boolean } {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = lineEnd < 0 ? Number.NaN : Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    if (Number.isNaN(size)) return { body: Buffer.concat(pieces), isWhole: false }
    const end = lineEnd + 2 + size
    pieces.push(bytes.subarray(lineEnd + 2, end))
    if (bytes.length < end + 2) return { body: Buffer.concat(pieces), isWhole: false }
    if (size === 0) return { body: Buffer.concat(pieces), isWhole: true }
    at = end + 2
  }
}

export function judged(bytes: Buffer): Judged {
  if (bytes.length === 0) return { kind: 'nothing', status: 0, body: bytes }
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd < 0) return { kind: 'incomplete', status: 0, body: bytes }
  const head = bytes.subarray(0, headEnd).toString('latin1')
  const status = Number(head.split(' ')[1])
  const rest = bytes.subarray(headEnd + HEAD_END.length)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) {
    return { kind: rest.length < Number(length) ? 'incomplete' : 'complete', status, body: rest }
  }
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) return { kind: 'unbounded', status, body: rest }
  const { body, isWhole } = unchunked(rest)
  return { kind: isWhole ? 'complete' : 'incomplete', status, body }
}

/** `head` is a whole request; its version and `Connection` header are set here. */
export function asking(head: string, kind: ConnectionKind): string {
  if (kind === 'HTTP/1.0') return head.replace(' HTTP/1.1\r\n', ' HTTP/1.0\r\n')
  return kind === 'close' ? head.replace(HEAD_END, `\r\nConnection: close${HEAD_END}`) : head
}

export async function exchangeRaw(port: number, transport: Transport, request: string): Promise<Judged> {
  const socket = await open(port, transport)
  socket.write(Buffer.from(request, 'latin1'))
  return judged(await receivedOnce(socket))
}
