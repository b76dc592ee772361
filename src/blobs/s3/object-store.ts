/**
 * Requests to the other store, on objects below one prefix. Transient failures are retried for a bounded time; what is
 * left becomes an error that this program understands: the object is missing, the store is full, or it is unavailable.
 */
import type { IncomingMessage } from 'node:http'
import { BodyDigest } from '../../digest/body-digest.ts'
import type { DigestAlgorithm } from '../../digest/digest-program.ts'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { children, childText } from '../../lib/xml.ts'
import type { ClientRequest, ClientResponse, S3Client } from '../../s3/client.ts'
import { documentOf, isTransient, NoResponse, RequestRefused, ResponseDamaged } from '../../s3/responses.ts'
import { type RetryContext, type RetryPolicy, withRetries } from '../../s3/retries.ts'
import { DiskFull } from '../blobs.ts'

interface ObjectStoreOptions {
  readonly client: S3Client
  /** Empty, or with a slash at its end. */
  readonly prefix: string
  readonly retries: RetryPolicy
  readonly context: RetryContext
}

interface ListedObject {
  /** Without the prefix. */
  readonly name: string
  readonly bytes: number
}

/** Part of a response: the store may have less than what was asked for. */
export interface ObjectRange {
  readonly body: IncomingMessage
  readonly bytes: number
}

/** The other store has no object of this name. */
export class MissingObject extends Error {
  /** As for a missing file. */
  readonly code = 'ENOENT'
}

/** The store has an object of a name that is never used twice. */
export class ObjectExists extends Error {}

const FULL_CODES = [
  'InsufficientStorage',
  'QuotaExceeded',
  'XMinioStorageFull',
  'EntityQuotaExceeded',
  'InsufficientCapacity',
]
/** The bytes that arrived are not those that were sent. */
const MANGLED_CODES = ['BadDigest', 'XAmzContentSHA256Mismatch', 'XAmzContentChecksumMismatch', 'IncompleteBody']
const PAGE = 1000

const isRefused = (error: unknown, status: number): error is RequestRefused =>
  error instanceof RequestRefused && error.status === status

/** The range begins beyond the end of the object. */
export const isBeyondEnd = (error: unknown): boolean => isRefused(error, 416)

async function digestOf(algorithm: DigestAlgorithm, pieces: readonly Buffer[]): Promise<Buffer> {
  const digest = new BodyDigest(algorithm)
  try {
    for (const piece of pieces) {
      const hashing = digest.update(piece)
      if (hashing !== undefined) await hashing
    }
    return await digest.digest()
  } finally {
    digest.abandon()
  }
}

export class ObjectStore {
  readonly #client: S3Client
  readonly #prefix: string
  readonly #retries: RetryPolicy
  readonly #context: RetryContext
  /** Until the store says that it cannot. */
  #refusesOverwrites = true

  constructor({ client, prefix, retries, context }: ObjectStoreOptions) {
    this.#client = client
    this.#prefix = prefix
    this.#retries = retries
    this.#context = context
  }

  get host(): string {
    return this.#client.address.endpoint.host
  }

  close(): void {
    this.#client.close()
  }

  keyOf(name: string): string {
    return this.#prefix + name
  }

  /** Stores a new object; resolves when the other store has acknowledged it. */
  put(name: string, body: readonly Buffer[]): Promise<void> {
    return this.creating(name, async headers => {
      await this.send({ method: 'PUT', key: this.keyOf(name), headers, body })
    })
  }

  /**
   * Runs a request that creates an object and asks the store to refuse if there is one. After an attempt whose outcome
   * is unknown the object may be ours, so the next attempt replaces it by the same bytes.
   */
  creating<T>(name: string, attempt: (headers: [string, string][], isRepeated: boolean) => Promise<T>): Promise<T> {
    let isUnknown = false
    return this.attempts(async () => {
      const asks = this.#refusesOverwrites && !isUnknown
      try {
        return await attempt(asks ? [['if-none-match', '*']] : [], isUnknown)
      } catch (error) {
        if (asks && isRefused(error, 501)) {
          this.#refusesOverwrites = false
          throw new NoResponse('the store does not know If-None-Match')
        }
        if (asks && isRefused(error, 412)) throw new ObjectExists(`${this.host} already has an object ${name}`)
        isUnknown ||= isTransient(error)
        throw error
      }
    })
  }

  /**
   * Sends bytes once, with their MD5 and as part of the signature their SHA-256, so that the store refuses what was
   * changed on the way. Resolves to the ETag.
   */
  async send(ask: ClientRequest & { readonly body: readonly Buffer[] }): Promise<string> {
    const [md5, sha256] = await Promise.all([digestOf('md5', ask.body), digestOf('sha256', ask.body)])
    const headers = [...(ask.headers ?? []), ['content-md5', md5.toString('base64')] as const]
    try {
      const response = await this.#client.requestOnce({ ...ask, headers, bodyHash: sha256.toString('hex') })
      return checkedEtag(response, md5)
    } catch (error) {
      const isMangled = error instanceof RequestRefused && MANGLED_CODES.includes(error.code)
      throw isMangled ? new ResponseDamaged(`${this.host} received other bytes: ${error.message}`) : error
    }
  }

  /** Sends a request once, without a body or with one that needs no checksum. */
  ask(ask: ClientRequest): Promise<ClientResponse> {
    return this.#client.requestOnce(ask)
  }

  /** Opens bytes [start, end) once; the caller reads or destroys the body. Fewer bytes: the object ends there. */
  async open(name: string, start: number, end: number): Promise<ObjectRange> {
    const body = await this.#client.open(this.#rangeOf(name, start, end))
    try {
      return { body, bytes: this.#bytesIn(body, start, end) }
    } catch (error) {
      body.destroy()
      throw error
    }
  }

  /** Reads bytes [start, end) once. Fewer bytes: the object ends there. */
  async read(name: string, start: number, end: number): Promise<Buffer> {
    const { response, body } = await this.#client.read(this.#rangeOf(name, start, end))
    const bytes = this.#bytesIn(response, start, end)
    if (body.length !== bytes) throw new NoResponse(`the response has ${body.length} of ${bytes} bytes`)
    return body
  }

  #rangeOf(name: string, start: number, end: number): ClientRequest {
    return { method: 'GET', key: this.keyOf(name), headers: [['range', `bytes=${start}-${end - 1}`]] }
  }

  /** The length of the range in a response. A store that sends another range must not be believed. */
  #bytesIn({ statusCode, headers }: IncomingMessage, start: number, end: number): number {
    const [, from, to] = /^bytes (\d+)-(\d+)\//.exec(headers['content-range'] ?? '') ?? []
    const bytes = Number(to) - Number(from) + 1
    if (statusCode === 206 && Number(from) === start && bytes > 0 && start + bytes <= end) return bytes
    throw new Error(`${this.host} did not answer a range request with that range of the object`)
  }

  async bytesOf(name: string): Promise<number> {
    const response = await this.attempts(() => this.ask({ method: 'HEAD', key: this.keyOf(name) }))
    return Number(response.headers.get('content-length'))
  }

  async has(name: string): Promise<boolean> {
    try {
      await this.bytesOf(name)
      return true
    } catch (error) {
      if (error instanceof MissingObject) return false
      throw error
    }
  }

  /** No error when it is missing. */
  async remove(name: string): Promise<void> {
    try {
      await this.attempts(() => this.ask({ method: 'DELETE', key: this.keyOf(name) }))
    } catch (error) {
      if (!(error instanceof MissingObject)) throw error
    }
  }

  async *list(folder: string): AsyncGenerator<ListedObject, void, undefined> {
    let token: string | undefined
    do {
      const query = { 'list-type': 2, prefix: this.keyOf(folder), 'max-keys': PAGE, 'continuation-token': token }
      const root = await this.attempts(async () => documentOf((await this.ask({ method: 'GET', query })).body))
      for (const node of children(root, 'Contents')) {
        const key = childText(node, 'Key') ?? ''
        if (key.startsWith(this.#prefix)) {
          yield { name: key.slice(this.#prefix.length), bytes: Number(childText(node, 'Size')) }
        }
      }
      token = childText(root, 'IsTruncated') === 'true' ? childText(root, 'NextContinuationToken') : undefined
    } while (token !== undefined)
  }

  async attempts<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    try {
      return await withRetries(work, this.#retries, this.#context)
    } catch (error) {
      throw this.#translated(error)
    }
  }

  #translated(error: unknown): unknown {
    if (isTransient(error)) {
      return new EngineUnavailable(`the blob store at ${this.host} is unavailable: ${(error as Error).message}`, error)
    }
    if (!(error instanceof RequestRefused)) return error
    const { status, code, message } = error
    const refusal = `the blob store at ${this.host} refuses: ${message} (${code})`
    if (status === 507 || FULL_CODES.includes(code)) return new DiskFull(error)
    if (code === 'NoSuchBucket')
      return new EngineUnavailable(`${refusal}: create bucket ${this.#client.address.bucket}`)
    if (status === 404) return new MissingObject(refusal)
    if (status === 403)
      return new EngineUnavailable(`${refusal}: check HOLDFAST_BLOBS_ACCESS_KEY and its rights`, error)
    return error
  }
}

/** The ETag of bytes that the store does not encrypt under a key of its own is their MD5. */
function checkedEtag({ headers }: ClientResponse, md5: Buffer): string {
  const etag = headers.get('etag') ?? ''
  const bare = etag.replaceAll('"', '')
  const isMd5 = /^[0-9a-f]{32}$/.test(bare) && !/kms/.test(headers.get(':server-side-encryption') ?? '')
  if (isMd5 && bare !== md5.toString('hex')) throw new ResponseDamaged('the store acknowledged other bytes')
  return etag
}
