/** Reads responses from a connection, trusting nothing. */

export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: Buffer
  /** The server announces that it closes the connection. */
  readonly closes: boolean
}

/** The bytes are not an HTTP/1.1 response. */
export class NoAnswer extends Error {}

interface Head {
  readonly status: number
  readonly text: string
  readonly length: number | 'chunked' | 'to the end'
}

const HEAD_BYTES_MAX = 64 * 1024

function headOf(text: string, method: string): Head {
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |\r\n)/.exec(text)?.[1] ?? 0)
  if (status === 0) throw new NoAnswer(`not an answer: ${JSON.stringify(text.slice(0, 80))}`)
  const header = (name: string): string | undefined => new RegExp(`^${name}:[ \\t]*(.*?)[ \\t]*$`, 'im').exec(text)?.[1]
  const isBare = method === 'HEAD' || status < 200 || status === 204 || status === 304
  if (isBare) return { status, text, length: 0 }
  if (header('transfer-encoding')?.toLowerCase() === 'chunked') return { status, text, length: 'chunked' }
  const length = header('content-length')
  return { status, text, length: length === undefined ? 'to the end' : Number(length) }
}

/** The chunked body that starts here; undefined while it is incomplete. */
function unchunked(bytes: Buffer, from: number): { readonly body: Buffer; readonly next: number } | undefined {
  const pieces: Buffer[] = []
  for (let at = from; ; ) {
    const end = bytes.indexOf('\r\n', at)
    if (end < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, end), 16)
    if (Number.isNaN(size)) throw new NoAnswer('a chunk without a size')
    const next = end + 2 + size + 2
    if (bytes.length < next) return undefined
    if (size === 0) return { body: Buffer.concat(pieces), next }
    pieces.push(bytes.subarray(end + 2, end + 2 + size))
    at = next
  }
}

export class AnswerReader {
  readonly answers: Answer[] = []
  readonly #methods: readonly string[]
  #held: Buffer = Buffer.alloc(0)

  constructor(methods: readonly string[]) {
    this.#methods = methods
  }

  push(bytes: Buffer): void {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes])
    while (this.#take(false));
  }

  /** The connection has closed: a body that ends with it is complete now. */
  end(): void {
    this.#take(true)
    if (this.#held.length > 0) throw new NoAnswer(`${this.#held.length} bytes that are no whole answer`)
  }

  #take(ended: boolean): boolean {
    const end = this.#held.indexOf('\r\n\r\n')
    if (end < 0) {
      if (this.#held.length > HEAD_BYTES_MAX) throw new NoAnswer('a head without end')
      return false
    }
    const method = this.#methods[this.answers.length] ?? 'GET'
    const head = headOf(this.#held.toString('latin1', 0, end + 2), method)
    const from = end + 4
    const found = this.#body(head, from, ended)
    if (found === undefined) return false
    this.#held = this.#held.subarray(found.next)
    if (head.status >= 200) {
      const closes = /^connection:[ \t]*close/im.test(head.text)
      this.answers.push({ status: head.status, head: head.text, body: found.body, closes })
    }
    return this.#held.length > 0
  }

  #body({ length }: Head, from: number, ended: boolean): { readonly body: Buffer; readonly next: number } | undefined {
    if (length === 'chunked') return unchunked(this.#held, from)
    const next = length === 'to the end' ? this.#held.length : from + length
    const whole = length === 'to the end' ? ended : this.#held.length >= next
    return whole ? { body: this.#held.subarray(from, next), next } : undefined
  }
}
