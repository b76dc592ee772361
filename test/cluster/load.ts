/** Clients of mixed load over HTTP, each through any gateway. They write down what was acknowledged. */
import { createHash, randomInt } from 'node:crypto'
import type { S3Client } from '../../src/s3/client.ts'
import { ABSENT, History } from '../simulation/history.ts'
import { payload } from '../store/fixture.ts'
import { BUCKET, type GatewayProcess, LOCKED } from './gateways.ts'

const KEYS_PER_CLIENT = 6
const SIZES = [40, 6_000, 200_000, 1_500_000]
const PART_BYTES = 5 * 2 ** 20

interface HeldVersion {
  readonly key: string
  readonly versionId: string
  readonly value: number
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? '')
const oneOf = <T>(list: readonly T[]): T => list[randomInt(list.length)]!

/** The version id in a response, whichever dialect it is in. */
const versionIdOf = (headers: ReadonlyMap<string, string>): string => headers.get(':version-id') ?? ''

export class Load {
  readonly history = new History()
  readonly violations: string[] = []
  readonly #gateways: readonly GatewayProcess[]
  readonly #written = new Map<number, Buffer>()
  readonly #held: HeldVersion[] = []
  #values = 0
  /** Calls that were acknowledged, and all. */
  acknowledged = 0
  calls = 0
  isOver = false

  constructor(gateways: readonly GatewayProcess[]) {
    this.#gateways = gateways
  }

  get held(): number {
    return this.#held.length
  }

  /** Each client has keys of its own and shares half of them with the next one, so that histories stay short. */
  async client(number: number): Promise<void> {
    const clients = new Map(this.#gateways.map(gateway => [gateway, this.#clientsOf(gateway)]))
    let round = 0
    while (!this.isOver) {
      const epoch = Math.floor(round++ / 20)
      const key = `k-${number - randomInt(2)}-${epoch}-${randomInt(KEYS_PER_CLIENT)}`
      const gateway = oneOf(this.#gateways.filter(({ isRunning }) => isRunning))
      if (gateway === undefined) continue
      const { plain, locked } = clients.get(gateway)!
      this.calls++
      const what = randomInt(100)
      if (what < 35) await this.#put(plain, key)
      else if (what < 70) await this.#get(plain, key)
      else if (what < 78) await this.#remove(plain, key)
      else if (what < 83) await this.#multipart(plain, key)
      else if (what < 90) await this.#list(plain)
      else if (what < 95) await this.#hold(locked, key)
      else await this.#breakHold(locked)
    }
    for (const { plain, locked } of clients.values()) {
      plain.close()
      locked.close()
    }
  }

  #clientsOf(gateway: GatewayProcess): { readonly plain: S3Client; readonly locked: S3Client } {
    return { plain: gateway.client(BUCKET), locked: gateway.client(LOCKED) }
  }

  #newValue(size = oneOf(SIZES)): { readonly value: number; readonly bytes: Buffer } {
    const value = ++this.#values
    const bytes = payload(size, value)
    bytes.writeUInt32BE(value, 0)
    this.#written.set(value, bytes)
    return { value, bytes }
  }

  async #write(key: string, value: number, work: () => Promise<unknown>): Promise<void> {
    const start = this.history.begin(performance.now())
    try {
      await work()
      this.acknowledged++
      this.history.write(key, start, performance.now(), value)
    } catch {
      this.history.write(key, start, Number.POSITIVE_INFINITY, value)
    }
  }

  #put(client: S3Client, key: string): Promise<void> {
    const { value, bytes } = this.#newValue()
    return this.#write(key, value, () => client.requestOnce({ method: 'PUT', key, body: bytes }))
  }

  #remove(client: S3Client, key: string): Promise<void> {
    return this.#write(key, ABSENT, () => client.requestOnce({ method: 'DELETE', key }))
  }

  #multipart(client: S3Client, key: string): Promise<void> {
    const { value, bytes } = this.#newValue(PART_BYTES + 1_000)
    return this.#write(key, value, async () => {
      const created = (await client.requestOnce({ method: 'POST', key, query: { uploads: '' } })).body.toString()
      const uploadId = /<UploadId>([^<]+)</.exec(created)![1]!
      const parts: string[] = []
      for (const [i, body] of [bytes.subarray(0, PART_BYTES), bytes.subarray(PART_BYTES)].entries()) {
        const query = { partNumber: i + 1, uploadId }
        const { headers } = await client.requestOnce({ method: 'PUT', key, query, body })
        parts.push(`<Part><PartNumber>${i + 1}</PartNumber><ETag>${headers.get('etag')}</ETag></Part>`)
      }
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
      const done = await client.requestOnce({ method: 'POST', key, query: { uploadId }, body })
      if (!done.body.includes('<CompleteMultipartUploadResult')) throw new Error('the upload failed in its response')
    })
  }

  async #valueAt(client: S3Client, key: string, versionId?: string): Promise<number> {
    try {
      const { body } = await client.requestOnce({ method: 'GET', key, query: { versionId } })
      const value = body.length < 4 ? ABSENT : body.readUInt32BE(0)
      if (this.#written.get(value)?.equals(body) !== true) this.violations.push(`${key} has bytes that nobody wrote`)
      return value
    } catch (error) {
      if (codeOf(error) === 'NoSuchKey') return ABSENT
      throw error
    }
  }

  async #get(client: S3Client, key: string): Promise<void> {
    const start = this.history.begin(performance.now())
    try {
      const value = await this.#valueAt(client, key)
      this.acknowledged++
      this.history.read(key, start, performance.now(), value)
    } catch {}
  }

  async #list(client: S3Client): Promise<void> {
    await client.requestOnce({ method: 'GET', query: { 'list-type': 2, 'max-keys': 100 } }).then(
      () => this.acknowledged++,
      () => {},
    )
  }

  async #hold(client: S3Client, key: string): Promise<void> {
    const { value, bytes } = this.#newValue()
    try {
      const { headers } = await client.requestOnce({
        method: 'PUT',
        key,
        body: bytes,
        headers: [
          [':object-lock-legal-hold', 'ON'],
          ['content-md5', createHash('md5').update(bytes).digest('base64')],
        ],
      })
      this.#held.push({ key, versionId: versionIdOf(headers), value })
      this.acknowledged++
    } catch {}
  }

  async #breakHold(client: S3Client): Promise<void> {
    if (this.#held.length === 0) return
    const { key, versionId } = oneOf(this.#held)
    await client.requestOnce({ method: 'DELETE', key, query: { versionId } }).then(
      () => this.violations.push(`the held version ${versionId} of ${key} was deleted`),
      () => {},
    )
  }

  /** When nothing else goes on: every key has an explicable value, and every held version is there. */
  async readAll(gateway: GatewayProcess): Promise<void> {
    const { plain, locked } = this.#clientsOf(gateway)
    for (const key of this.history.keys()) {
      const start = this.history.begin(performance.now())
      this.history.read(key, start, performance.now(), await this.#valueAt(plain, key))
    }
    for (const { key, versionId, value } of this.#held) {
      const found = await this.#valueAt(locked, key, versionId).catch((error: unknown) => codeOf(error))
      if (found !== value) this.violations.push(`the held version ${versionId} of ${key} is gone: ${found}`)
    }
    plain.close()
    locked.close()
  }
}
