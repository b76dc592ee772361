/** A connection on which a test writes raw bytes and reads the responses. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { parseXml } from '../../src/lib/xml-reader.ts'

export interface WireAnswer {
  readonly status: number
  /** By lower-case name; the last of several with the same name. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** The code of an error; empty when there is none. */
  readonly code: string
}

/** Generous, so that a busy machine does not fail a test. */
const WAIT_MS_MAX = 30_000
const HEAD_END = Buffer.from('\r\n\r\n')

/** Lets pending events run. */
export const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Waits until a condition holds; false on timeout. */
export async function until(holds: () => boolean, meanwhile: () => void = () => {}): Promise<boolean> {
  for (const since = performance.now(); !holds(); await turn()) {
    if (performance.now() - since > WAIT_MS_MAX) return false
    meanwhile()
  }
  return true
}

export class Wire {
  readonly socket: Socket
  #seen: Buffer = Buffer.alloc(0)
  #isClosed = false
  #changed: () => void = () => {}

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('data', chunk => {
      this.#seen = Buffer.concat([this.#seen, chunk])
      this.#changed()
    })
    socket.on('close', () => {
      this.#isClosed = true
      this.#changed()
    })
  }

  static async open(port: number): Promise<Wire> {
    const socket = connect(port, '127.0.0.1')
    const wire = new Wire(socket)
    await once(socket, 'connect')
    return wire
  }

  write(...pieces: readonly (string | Buffer)[]): this {
    for (const piece of pieces) this.socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)
    return this
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** True if a response, or part of one, has arrived. */
  get hasAnswer(): boolean {
    return this.#seen.length > 0
  }

  /** The next response; undefined when the connection closes without one. */
  async answer(): Promise<WireAnswer | undefined> {
    for (;;) {
      const taken = this.#take()
      if (taken !== undefined) return taken
      if (this.#isClosed) return undefined
      await new Promise<void>(resolve => {
        this.#changed = resolve
      })
    }
  }

  async closed(): Promise<void> {
    while (!this.#isClosed) {
      await new Promise<void>(resolve => {
        this.#changed = resolve
      })
    }
  }

  #take(): WireAnswer | undefined {
    const headEnd = this.#seen.indexOf(HEAD_END)
    if (headEnd < 0) return undefined
    const [first = '', ...lines] = this.#seen.subarray(0, headEnd).toString('latin1').split('\r\n')
    const headers = new Map(lines.map(line => [line.replace(/:.*/s, '').toLowerCase(), line.replace(/^[^:]*: */, '')]))
    const start = headEnd + HEAD_END.length
    const end = start + Number(headers.get('content-length') ?? 0)
    if (this.#seen.length < end) return undefined
    const body = this.#seen.subarray(start, end)
    this.#seen = this.#seen.subarray(end)
    const status = Number(first.split(' ')[1])
    const isError = status >= 300 && body.length > 0
    const code = isError ? (parseXml(body).children.find(child => child.name === 'Code')?.text ?? '') : ''
    return { status, headers, body, code }
  }
}

/** Sends this on its own connection and returns the first response. */
export async function exchange(port: number, ...pieces: readonly (string | Buffer)[]): Promise<WireAnswer | undefined> {
  const wire = (await Wire.open(port)).write(...pieces)
  try {
    return await wire.answer()
  } finally {
    wire.socket.destroy()
  }
}
