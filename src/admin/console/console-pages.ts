/** The console's pages: the files of its build, or a status page where it was not built. */
import type { IncomingMessage } from 'node:http'
import { splitTarget } from '../../http/raw-request.ts'
import type { Random } from '../../lib/random.ts'
import { Fault } from '../../model/faults.ts'
import type { AdminResponse } from '../admin-response.ts'
import { PAGE_POLICY, page } from '../page.ts'
import type { ConsoleAddress } from './console-address.ts'
import { consolePolicy } from './console-policy.ts'

export interface ConsoleFile {
  readonly type: string
  readonly bytes: Buffer
  /** Compressed in advance, by the name of the coding. */
  readonly compressed: ReadonlyMap<string, Buffer>
}

/** All files of the build by their paths, `/index.html` among them; undefined when it was not built. */
export type ConsoleFiles = () => Promise<ReadonlyMap<string, ConsoleFile> | undefined>

interface ConsolePagesParts {
  readonly address: ConsoleAddress
  readonly files: ConsoleFiles
  readonly random: Random
}

const INDEX = '/index.html'
/** Paths of the API, which are never pages. */
const API = /^\/(v1|health|metrics|openapi\.json)(\/|$)/
/** Names with a hash of their content. */
const HASHED = /^\/assets\//
const IMMUTABLE = 'public, max-age=31536000, immutable'
const NONCE_BYTES = 16
const NONCE = '__CSP_NONCE__'

export class ConsolePages {
  readonly #parts: ConsolePagesParts

  constructor(parts: ConsolePagesParts) {
    this.#parts = parts
  }

  /** True when the request was for a page and is answered. */
  async serve(message: IncomingMessage, reply: AdminResponse, isReady: () => Promise<boolean>): Promise<boolean> {
    const { path } = splitTarget(message.url ?? '')
    if ((message.method !== 'GET' && message.method !== 'HEAD') || API.test(path)) return false
    const files = await this.#parts.files()
    if (files === undefined) {
      if (path !== '/') return false
      await reply.page(page(await isReady()), PAGE_POLICY)
      return true
    }
    const file = files.get(path)
    // Every path that a browser navigates to is a place in the console.
    const isPlace = path === '/' || path === INDEX || (message.headers.accept ?? '').includes('text/html')
    if (path !== INDEX && file !== undefined) await this.#sendFile(message, reply, path, file)
    else if (isPlace && !HASHED.test(path)) await this.#sendIndex(message, reply, files.get(INDEX)!)
    else return false
    return true
  }

  #sendFile(message: IncomingMessage, reply: AdminResponse, path: string, file: ConsoleFile): Promise<void> {
    const accepted = String(message.headers['accept-encoding'] ?? '')
      .split(',')
      .map(coding => coding.trim())
    const encoding = [...file.compressed.keys()].find(coding => accepted.includes(coding))
    const bytes = encoding === undefined ? file.bytes : file.compressed.get(encoding)!
    const caching = HASHED.test(path) ? IMMUTABLE : 'no-cache'
    return reply.file({ type: file.type, bytes, encoding }, [
      ['cache-control', caching],
      ['vary', 'accept-encoding'],
    ])
  }

  async #sendIndex(message: IncomingMessage, reply: AdminResponse, index: ConsoleFile): Promise<void> {
    const nonce = this.#parts.random.bytes(NONCE_BYTES).toString('base64url')
    const bytes = Buffer.from(index.bytes.toString().replaceAll(NONCE, nonce))
    try {
      const { objectUrl } = this.#parts.address.visit(message)
      await reply.file({ type: index.type, bytes }, [['content-security-policy', consolePolicy(objectUrl, nonce)]])
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      await reply.plain(error.status, `${error.detail.reason ?? error.message}\n`)
    }
  }
}
