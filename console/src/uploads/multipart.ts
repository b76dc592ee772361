/** One multipart upload of a file. Parts that arrived are kept over pauses, failures and reloads of the page. */
import { ApiFailure } from '../api/failure.ts'
import { crc32OfBlob } from '../objects/crc32.ts'
import { childrenOf, escapeXml, rootOf, send, sendForXml, textIn } from '../objects/request.ts'
import { texts } from '../texts/texts.ts'
import { type FileMark, rememberedUploads } from './remembered-uploads.ts'
import { transfer } from './transfer.ts'

const MEGABYTE = 2 ** 20
const PART_BYTES_MIN = 8 * MEGABYTE
const PARTS_MAX = 10_000
const AT_ONCE = 4

/** Smaller files go in one request. */
export const MULTIPART_BYTES_MIN = 16 * MEGABYTE

interface ArrivedPart {
  readonly etag: string
  readonly crc32: string
}

interface Place {
  readonly bucket: string
  readonly key: string
}

interface UploadOrder extends Place {
  readonly accessKey: string
  readonly file: File
}

export class MultipartUpload {
  readonly #place: Place
  readonly #file: File
  readonly #mark: FileMark
  #partBytes: number
  readonly #arrived = new Map<number, ArrivedPart>()
  readonly #sending = new Map<number, number>()
  /** Of parts that were read; another try does not read them for it again. */
  readonly #sums = new Map<number, string>()
  #uploadId: string | undefined

  constructor({ bucket, key, accessKey, file }: UploadOrder) {
    this.#place = { bucket, key }
    this.#file = file
    this.#mark = { accessKey, bucket, key, size: file.size, modifiedAt: file.lastModified }
    const needed = Math.ceil(file.size / PARTS_MAX / MEGABYTE) * MEGABYTE
    this.#partBytes = Math.max(PART_BYTES_MIN, needed)
  }

  get sentBytes(): number {
    const arrived = [...this.#arrived.keys()].reduce((sum, number) => sum + this.#part(number).size, 0)
    return [...this.#sending.values()].reduce((sum, bytes) => sum + bytes, arrived)
  }

  /** Sends what is missing and completes. May be called again after a failure. */
  async run(signal: AbortSignal, onProgress: () => void): Promise<void> {
    try {
      this.#uploadId ??= (await this.#resume(signal, onProgress)) ?? (await this.#create())
      await this.#sendMissing(signal, onProgress)
      await this.#complete(signal)
      rememberedUploads.forget(this.#uploadId)
    } catch (error) {
      // Somebody aborted it, or a rule of the bucket did: the next try begins anew.
      if (error instanceof ApiFailure && error.code === 'NoSuchUpload') this.#forget()
      throw error
    }
  }

  /** Frees the parts that arrived. */
  async abort(): Promise<void> {
    if (this.#uploadId === undefined) return
    const query = { uploadId: this.#uploadId }
    this.#forget()
    await send({ method: 'DELETE', ...this.#place, query })
  }

  #forget(): void {
    if (this.#uploadId !== undefined) rememberedUploads.forget(this.#uploadId)
    this.#uploadId = undefined
    this.#arrived.clear()
  }

  #part(number: number): Blob {
    const start = (number - 1) * this.#partBytes
    return this.#file.slice(start, Math.min(start + this.#partBytes, this.#file.size))
  }

  async #sumOf(number: number, signal: AbortSignal): Promise<string> {
    const sum = this.#sums.get(number) ?? (await crc32OfBlob(this.#part(number), signal))
    this.#sums.set(number, sum)
    return sum
  }

  async #create(): Promise<string> {
    const request = {
      method: 'POST' as const,
      ...this.#place,
      query: { uploads: '' },
      headers: { 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': 'FULL_OBJECT' },
    }
    const headers = { 'content-type': this.#file.type || 'application/octet-stream' }
    const uploadId = textIn(await sendForXml(request, { headers }), 'UploadId')!
    rememberedUploads.add({ ...this.#mark, uploadId, partBytes: this.#partBytes })
    return uploadId
  }

  /**
   * Goes on with an upload of the same file that an earlier page began. Parts are compared with the file: one that was
   * changed and kept its size and time must not be mixed with its old state.
   */
  async #resume(signal: AbortSignal, onProgress: () => void): Promise<string | undefined> {
    const remembered = rememberedUploads.take(this.#mark)
    if (remembered === undefined) return undefined
    const { uploadId, partBytes } = remembered
    try {
      const listed = await listParts({ ...this.#place, uploadId }, signal)
      this.#partBytes = partBytes
      for (const { number, size, ...part } of listed) {
        if (this.#part(number).size !== size || (await this.#sumOf(number, signal)) !== part.crc32) continue
        this.#arrived.set(number, part)
        onProgress()
      }
      return uploadId
    } catch (error) {
      rememberedUploads.release(uploadId)
      if (!(error instanceof ApiFailure && error.code === 'NoSuchUpload')) throw error
      rememberedUploads.forget(uploadId)
      return undefined
    }
  }

  async #sendMissing(signal: AbortSignal, onProgress: () => void): Promise<void> {
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
  }

  async #sendPart(number: number, signal: AbortSignal, onProgress: () => void): Promise<void> {
    const query = { partNumber: String(number), uploadId: this.#uploadId! }
    const crc32 = await this.#sumOf(number, signal)
    const headers = { 'x-amz-checksum-crc32': crc32 }
    const etag = await transfer({ method: 'PUT', ...this.#place, query, headers }, this.#part(number), {
      signal,
      onProgress: bytes => {
        this.#sending.set(number, bytes)
        onProgress()
      },
    })
    this.#sending.delete(number)
    this.#arrived.set(number, { etag, crc32 })
    onProgress()
  }

  async #complete(signal: AbortSignal): Promise<void> {
    const rows = [...this.#arrived]
      .sort(([one], [other]) => one - other)
      .map(([number, { etag, crc32 }]) => {
        const sums = `<ETag>${escapeXml(etag)}</ETag><ChecksumCRC32>${crc32}</ChecksumCRC32>`
        return `<Part><PartNumber>${number}</PartNumber>${sums}</Part>`
      })
    const body = `<CompleteMultipartUpload>${rows.join('')}</CompleteMultipartUpload>`
    const response = await send(
      { method: 'POST', ...this.#place, query: { uploadId: this.#uploadId! } },
      { body, signal },
    )
    const root = rootOf(await response.text())
    if (childrenOf(root, 'ETag').length === 0) throw new Error(texts.uploads.noConfirmation)
  }
}

interface ListedPart extends ArrivedPart {
  readonly number: number
  readonly size: number
}

async function listParts(upload: Place & { readonly uploadId: string }, signal: AbortSignal): Promise<ListedPart[]> {
  const { bucket, key, uploadId } = upload
  const parts: ListedPart[] = []
  for (let after: string | undefined; ; ) {
    const query = { uploadId, ...(after === undefined ? {} : { 'part-number-marker': after }) }
    const root = await sendForXml({ method: 'GET', bucket, key, query }, { signal })
    for (const part of childrenOf(root, 'Part')) {
      parts.push({
        number: Number(textIn(part, 'PartNumber')),
        size: Number(textIn(part, 'Size')),
        etag: textIn(part, 'ETag') ?? '',
        crc32: textIn(part, 'ChecksumCRC32') ?? '',
      })
    }
    if (textIn(root, 'IsTruncated') !== 'true') return parts
    after = textIn(root, 'NextPartNumberMarker')
  }
}
