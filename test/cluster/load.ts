/** Clients of mixed load over HTTP, each through any gateway. They write down what was acknowledged. */
import { createHash, randomInt } from 'node:crypto'
import type { S3Client } from '../../src/s3/client.ts'
import { ABSENT, History } from '../simulation/history.ts'
import { payload } from '../store/fixture.ts'
import { pause } from './cluster.ts'
import { BUCKET, type GatewayProcess, LOCKED } from './gateways.ts'

const KEYS_PER_CLIENT = 6
const SIZES = [40, 6_000, 200_000, 1_500_000]
const HELD_SIZES = [40, 6_000, 200_000]
const PART_BYTES = 5 * 2 ** 20
/** Objects that never change: copies are made of them, and every listing must name all of them. */
const SOURCES = 8
const SOURCE_PREFIX = 'source-'
/** Objects that stay after a check, to be found unchanged by later ones. */
const KEPT = 20
const AFTER_FAILURE_MS = 50
const READS_AT_ONCE = 6

interface HeldVersion {
  readonly key: string
  readonly versionId: string
  readonly value: number
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? '')
const oneOf = <T>(list: readonly T[]): T => list[randomInt(list.length)]!

/** Such a request never reached a gateway. */
const isUnsent = (error: unknown): boolean => error instanceof Error && error.message.includes('ECONNREFUSED')

async function inParallel<T>(list: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const left = list.values()
  const worker = async (): Promise<void> => {
    for (const one of left) await work(one)
  }
  await Promise.all(Array.from({ length: READS_AT_ONCE }, worker))
}

/** Bytes that tell which value they are. */
function bytesOf(value: number, size: number): Buffer {
  const bytes = payload(size, value)
  bytes.writeUInt32BE(value, 0)
  return bytes
}

/** The version id in a response, whichever dialect it is in. */
const versionIdOf = (headers: ReadonlyMap<string, string>): string => headers.get(':version-id') ?? ''

export class Load {
  /** Of the keys that were written since the last check. */
  #history = new History()
  readonly violations: string[] = []
  readonly #gateways: readonly GatewayProcess[]
  /** Size of each value. */
  readonly #sizes = new Map<number, number>()
  readonly #held: HeldVersion[] = []
  readonly #sources: number[] = []
  readonly #kept = new Map<string, number>()
  #values = 0
  #epoch = 0
  /** Calls that were acknowledged, and all. */
  acknowledged = 0
  calls = 0
  #isPaused = false
  #clients: Promise<void>[] = []

  constructor(gateways: readonly GatewayProcess[]) {
    this.#gateways = gateways
  }

  get held(): number {
    return this.#held.length
  }

  async start(clients: number): Promise<void> {
    const client = this.#gateways[0]!.client(BUCKET)
    for (let i = 0; i < SOURCES; i++) {
      const { value, bytes } = this.#newValue()
      await client.request({ method: 'PUT', key: `${SOURCE_PREFIX}${i}`, body: bytes })
      this.#sources.push(value)
    }
    client.close()
    this.#clients = new Array<Promise<void>>(clients).fill(Promise.resolve())
    this.resume()
  }

  /** Resolves when no call is in flight any more. */
  async pause(): Promise<void> {
    this.#isPaused = true
    await Promise.all(this.#clients)
  }

  resume(): void {
    this.#isPaused = false
    this.#clients = this.#clients.map((_, number) => this.#client(number))
  }

  /** Each client has keys of its own and shares half of them with the next one, so that histories stay short. */
  async #client(number: number): Promise<void> {
    const clients = new Map(this.#gateways.map(gateway => [gateway, this.#clientsOf(gateway)]))
    for (let round = 0; !this.#isPaused; round++) {
      const running = this.#gateways.filter(({ isRunning }) => isRunning)
      if (running.length === 0) {
        await pause(AFTER_FAILURE_MS)
        continue
      }
      const key = `k-${number - randomInt(2)}-${this.#epoch}-${Math.floor(round / 20)}-${randomInt(KEYS_PER_CLIENT)}`
      const { plain, locked } = clients.get(oneOf(running))!
      this.calls++
      const before = this.acknowledged
      await this.#call(plain, locked, key)
      if (this.acknowledged === before) await pause(AFTER_FAILURE_MS)
    }
    for (const { plain, locked } of clients.values()) {
      plain.close()
      locked.close()
    }
  }

  #call(plain: S3Client, locked: S3Client, key: string): Promise<void> {
    const what = randomInt(100)
    if (what < 30) return this.#put(plain, key)
    if (what < 62) return this.#get(plain, key)
    if (what < 70) return this.#remove(plain, key)
    if (what < 75) return this.#multipart(plain, key)
    if (what < 83) return this.#copy(plain, key)
    if (what < 90) return this.#list(plain)
    return what < 95 ? this.#hold(locked, key) : this.#breakHold(locked)
  }

  #clientsOf(gateway: GatewayProcess): { readonly plain: S3Client; readonly locked: S3Client } {
    return { plain: gateway.client(BUCKET), locked: gateway.client(LOCKED) }
  }

  #newValue(size = oneOf(SIZES)): { readonly value: number; readonly bytes: Buffer } {
    const value = ++this.#values
    this.#sizes.set(value, size)
    return { value, bytes: bytesOf(value, size) }
  }

  async #write(key: string, value: number, work: () => Promise<unknown>): Promise<void> {
    const start = this.#history.begin(performance.now())
    try {
      await work()
      this.acknowledged++
      this.#history.write(key, start, performance.now(), value)
    } catch (error) {
      if (!isUnsent(error)) this.#history.write(key, start, Number.POSITIVE_INFINITY, value)
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

  #copy(client: S3Client, key: string): Promise<void> {
    const source = randomInt(SOURCES)
    return this.#write(key, this.#sources[source]!, async () => {
      const headers = [[':copy-source', `/${BUCKET}/${SOURCE_PREFIX}${source}`]] as const
      const done = await client.requestOnce({ method: 'PUT', key, headers })
      if (!done.body.includes('<CopyObjectResult')) throw new Error('the copy failed in its response')
    })
  }

  async #valueAt(client: S3Client, key: string, versionId?: string): Promise<number> {
    try {
      const { body } = await client.requestOnce({ method: 'GET', key, query: { versionId } })
      const value = body.length < 4 ? ABSENT : body.readUInt32BE(0)
      const size = this.#sizes.get(value)
      if (size === undefined || !bytesOf(value, size).equals(body)) {
        this.violations.push(`${key} has bytes that nobody wrote`)
      }
      return value
    } catch (error) {
      if (codeOf(error) === 'NoSuchKey') return ABSENT
      throw error
    }
  }

  async #get(client: S3Client, key: string): Promise<void> {
    const start = this.#history.begin(performance.now())
    try {
      const value = await this.#valueAt(client, key)
      this.acknowledged++
      this.#history.read(key, start, performance.now(), value)
    } catch {}
  }

  async #list(client: S3Client): Promise<void> {
    const query = { 'list-type': 2, prefix: SOURCE_PREFIX }
    const found = await client.requestOnce({ method: 'GET', query }).catch(() => undefined)
    if (found === undefined) return
    this.acknowledged++
    const keys = found.body.toString().match(/<Key>/g)?.length ?? 0
    if (keys !== SOURCES) this.violations.push(`a listing named ${keys} of ${SOURCES} objects that never change`)
  }

  async #hold(client: S3Client, key: string): Promise<void> {
    const { value, bytes } = this.#newValue(oneOf(HELD_SIZES))
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

  /** Reads one of the objects that never change. */
  async readSource(gateway: GatewayProcess): Promise<void> {
    const client = gateway.client(BUCKET)
    const source = randomInt(SOURCES)
    const value = await this.#valueAt(client, `${SOURCE_PREFIX}${source}`)
    if (value !== this.#sources[source]) this.violations.push(`source ${source} has the value ${value}`)
    client.close()
  }

  /**
   * While no call is in flight: every key has a value that its history explains, what was there at earlier checks is
   * unchanged, and every held version is there. Keys are used no more after it, and most of them are deleted.
   */
  async check(gateway: GatewayProcess): Promise<void> {
    const { plain, locked } = this.#clientsOf(gateway)
    const values = new Map<string, number>()
    await inParallel(this.#history.keys(), async key => {
      const start = this.#history.begin(performance.now())
      const value = await this.#valueAt(plain, key)
      this.#history.read(key, start, performance.now(), value)
      values.set(key, value)
    })
    for (const key of this.#history.broken()) {
      this.violations.push(`no order of calls explains the history of ${key}: ${this.#history.textOf(key)}`)
    }
    await inParallel([...this.#kept], async ([key, value]) => {
      const found = await this.#valueAt(plain, key)
      if (found !== value) this.violations.push(`${key} has changed from ${value} to ${found} since the last check`)
    })
    await inParallel(this.#held, async ({ key, versionId, value }) => {
      const found = await this.#valueAt(locked, key, versionId).catch((error: unknown) => codeOf(error))
      if (found !== value) this.violations.push(`the held version ${versionId} of ${key} is gone: ${found}`)
    })
    if (this.violations.length === 0) await this.#settle(plain, values)
    plain.close()
    locked.close()
  }

  /** Leaves some objects for later checks and deletes the others, so that a long run does not fill the pool. */
  async #settle(client: S3Client, values: ReadonlyMap<string, number>): Promise<void> {
    const kept = [...values].slice(0, KEPT)
    for (const [key, value] of kept) this.#kept.set(key, value)
    await inParallel([...values.keys()].slice(KEPT), key => client.request({ method: 'DELETE', key }))
    this.#history = new History()
    this.#epoch++
  }
}
