/** Requests that are left in the middle while something happens. */
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { payload } from '../store/fixture.ts'
import { BUCKET, type GatewayProcess } from './gateways.ts'

const PUT_BYTES = 2 ** 20
/** More than fits into buffers on the way. */
const READ_BYTES = 64 * 2 ** 20
const SILENCE_MS = 120_000
const PUT_KEY = 'half-sent'
const READ_KEY = 'slowly-read'

export class HalfSentPut {
  readonly #body: PassThrough
  readonly #response: Promise<boolean>

  private constructor(body: PassThrough, response: Promise<boolean>) {
    this.#body = body
    this.#response = response
  }

  /** Resolves when half of the body is sent. */
  static async begin(gateway: GatewayProcess): Promise<HalfSentPut> {
    const client = gateway.client(BUCKET, SILENCE_MS)
    const body = new PassThrough()
    const sending = client.requestOnce({ method: 'PUT', key: PUT_KEY, stream: { from: body, length: PUT_BYTES } })
    const response = sending.then(
      () => true,
      () => false,
    )
    void response.finally(() => client.close())
    await new Promise<void>(resolve => body.write(Buffer.alloc(PUT_BYTES / 2), () => resolve()))
    return new HalfSentPut(body, response)
  }

  /** Sends the rest. */
  isAcknowledged(): Promise<boolean> {
    this.#body.on('error', () => {})
    this.#body.end(Buffer.alloc(PUT_BYTES / 2))
    return this.#response
  }
}

export class SlowRead {
  readonly #answer: IncomingMessage
  readonly #expected: Buffer

  private constructor(answer: IncomingMessage, expected: Buffer) {
    this.#answer = answer
    this.#expected = expected
  }

  /** Stores a large object and resolves when its first bytes have arrived. */
  static async begin(gateway: GatewayProcess): Promise<SlowRead> {
    const client = gateway.client(BUCKET, SILENCE_MS)
    const expected = payload(READ_BYTES)
    await client.request({ method: 'PUT', key: READ_KEY, body: expected })
    const answer = await client.open({ method: 'GET', key: READ_KEY })
    answer.once('close', () => client.close())
    return new SlowRead(answer, expected)
  }

  async deleteThrough(gateway: GatewayProcess): Promise<void> {
    const client = gateway.client(BUCKET)
    await client.request({ method: 'DELETE', key: READ_KEY })
    client.close()
  }

  /** Reads the rest; undefined when everything was right. */
  async finish(): Promise<string | undefined> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of this.#answer) chunks.push(chunk as Buffer)
    } catch (error) {
      return (error as Error).message
    }
    return Buffer.concat(chunks).equals(this.#expected) ? undefined : 'other bytes were read'
  }
}
