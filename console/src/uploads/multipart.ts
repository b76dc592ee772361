/** One multipart upload of a file. Parts that arrived are kept over pauses and failures. */
import { childrenOf, escapeXml, rootOf, send, sendForXml, textIn } from '../objects/request.ts'
import { texts } from '../texts/texts.ts'
import { transfer } from './transfer.ts'

const MEGABYTE = 2 ** 20
const PART_BYTES_MIN = 8 * MEGABYTE
const PARTS_MAX = 10_000
const AT_ONCE = 4

/** Smaller files go in one request. */
export const MULTIPART_BYTES_MIN = 16 * MEGABYTE

export class MultipartUpload {
  readonly #place: { readonly bucket: string; readonly key: string }
  readonly #file: File
  readonly #partBytes: number
  readonly #arrived = new Map<number, string>()
  readonly #sending = new Map<number, number>()
  #uploadId: string | undefined

  constructor(place: { bucket: string; key: string }, file: File) {
    this.#place = place
    this.#file = file
    const needed = Math.ceil(file.size / PARTS_MAX / MEGABYTE) * MEGABYTE
    this.#partBytes = Math.max(PART_BYTES_MIN, needed)
  }

  get sentBytes(): number {
    const arrived = [...this.#arrived.keys()].reduce((sum, number) => sum + this.#part(number).size, 0)
    return [...this.#sending.values()].reduce((sum, bytes) => sum + bytes, arrived)
  }

  /** Sends what is missing and completes. May be called again after a failure. */
  async run(signal: AbortSignal, onProgress: () => void): Promise<void> {
    this.#uploadId ??= await this.#create()
    const count = Math.max(1, Math.ceil(this.#file.size / this.#partBytes))
    const missing = Array.from({ length: count }, (_, i) => i + 1).filter(number => !this.#arrived.has(number))
    const failed = new AbortController()
    const either = AbortSignal.any([signal, failed.signal])
    const sendNext = async (): Promise<void> => {
      for (let number = missing.shift(); number !== undefined; number = missing.shift()) {
        await this.#sendPart(number, either, onProgress)
      }
    }
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, sendNext))
    } finally {
      failed.abort()
      this.#sending.clear()
      onProgress()
    }
    await this.#complete(signal)
  }

  /** Frees the parts that arrived. */
  async abort(): Promise<void> {
    if (this.#uploadId === undefined) return
    await send({ method: 'DELETE', ...this.#place, query: { uploadId: this.#uploadId } })
    this.#uploadId = undefined
    this.#arrived.clear()
  }

  #part(number: number): Blob {
    const start = (number - 1) * this.#partBytes
    return this.#file.slice(start, Math.min(start + this.#partBytes, this.#file.size))
  }

  async #create(): Promise<string> {
    const headers = { 'content-type': this.#file.type || 'application/octet-stream' }
    const root = await sendForXml({ method: 'POST', ...this.#place, query: { uploads: '' } }, { headers })
    return textIn(root, 'UploadId')!
  }

  async #sendPart(number: number, signal: AbortSignal, onProgress: () => void): Promise<void> {
    const query = { partNumber: String(number), uploadId: this.#uploadId! }
    const etag = await transfer({ method: 'PUT', ...this.#place, query }, this.#part(number), {
      signal,
      onProgress: bytes => {
        this.#sending.set(number, bytes)
        onProgress()
      },
    })
    this.#sending.delete(number)
    this.#arrived.set(number, etag)
    onProgress()
  }

  async #complete(signal: AbortSignal): Promise<void> {
    const numbers = [...this.#arrived.keys()].sort((one, other) => one - other)
    const rows = numbers.map(
      number => `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(this.#arrived.get(number)!)}</ETag></Part>`,
    )
    const body = `<CompleteMultipartUpload>${rows.join('')}</CompleteMultipartUpload>`
    const response = await send(
      { method: 'POST', ...this.#place, query: { uploadId: this.#uploadId! } },
      { body, signal },
    )
    const root = rootOf(await response.text())
    if (childrenOf(root, 'ETag').length === 0) throw new Error(texts.uploads.noConfirmation)
  }
}
