/** Multipart uploads to the other store. */
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { children, childText, type XmlNode } from '../../lib/xml.ts'
import { renderXml } from '../../lib/xml-writer.ts'
import { documentOf, NoResponse, RequestRefused, refusalOf } from '../../s3/responses.ts'
import { MissingObject, type ObjectStore } from './object-store.ts'

export interface UnfinishedUpload {
  /** Of the object, without the prefix. */
  readonly name: string
  readonly uploadId: string
}

const PAGE = 1000

export async function* unfinishedUploads(store: ObjectStore, folder: string): AsyncGenerator<UnfinishedUpload> {
  const prefix = store.keyOf('')
  let at: Record<string, string | undefined> | undefined = {}
  while (at !== undefined) {
    const query: Record<string, string | number | undefined> = {
      uploads: '',
      prefix: store.keyOf(folder),
      'max-uploads': PAGE,
      ...at,
    }
    const root: XmlNode = await store.attempts(async () => documentOf((await store.ask({ method: 'GET', query })).body))
    for (const node of children(root, 'Upload')) {
      const [key, uploadId] = [childText(node, 'Key') ?? '', childText(node, 'UploadId') ?? '']
      if (key.startsWith(prefix)) yield { name: key.slice(prefix.length), uploadId }
    }
    const next = {
      'key-marker': childText(root, 'NextKeyMarker'),
      'upload-id-marker': childText(root, 'NextUploadIdMarker'),
    }
    at = childText(root, 'IsTruncated') === 'true' ? next : undefined
  }
}

export async function dropUpload(store: ObjectStore, { name, uploadId }: UnfinishedUpload): Promise<void> {
  try {
    await store.attempts(() => store.ask({ method: 'DELETE', key: store.keyOf(name), query: { uploadId } }))
  } catch (error) {
    if (!(error instanceof MissingObject)) throw error
  }
}

/** Aborts every upload of this object. */
export async function dropUploads(store: ObjectStore, name: string): Promise<void> {
  const found: UnfinishedUpload[] = []
  for await (const upload of unfinishedUploads(store, name)) if (upload.name === name) found.push(upload)
  for (const upload of found) await dropUpload(store, upload)
}

export class MultipartUpload {
  readonly #store: ObjectStore
  readonly #name: string
  readonly #uploadId: string
  /** A lost response may have begun another upload of this object. */
  readonly #mayHaveTwin: boolean
  readonly #etags: string[] = []

  private constructor(store: ObjectStore, name: string, uploadId: string, mayHaveTwin: boolean) {
    this.#store = store
    this.#name = name
    this.#uploadId = uploadId
    this.#mayHaveTwin = mayHaveTwin
  }

  static begin(store: ObjectStore, name: string): Promise<MultipartUpload> {
    return store.attempts(async attempt => {
      const answer = await store.ask({ method: 'POST', key: store.keyOf(name), query: { uploads: '' } })
      const uploadId = childText(documentOf(answer.body), 'UploadId')
      if (uploadId === undefined) throw new NoResponse('the response has no upload id')
      return new MultipartUpload(store, name, uploadId, attempt > 0)
    })
  }

  /** `number` begins with 1. Parts may be sent in any order and at the same time. */
  async send(number: number, body: readonly Buffer[]): Promise<void> {
    const query = { partNumber: number, uploadId: this.#uploadId }
    const key = this.#store.keyOf(this.#name)
    this.#etags[number - 1] = await this.#store.attempts(() => this.#store.send({ method: 'PUT', key, query, body }))
  }

  /**
   * Makes the object appear. After a lost response `isWhole` reads it back: the upload may be gone because it was
   * completed, and some stores acknowledge a repetition although they died before they had assembled the object.
   */
  async complete(isWhole: () => Promise<boolean>): Promise<void> {
    const body = renderXml({
      root: 'CompleteMultipartUpload',
      write: to => {
        for (const [index, etag] of this.#etags.entries()) {
          to.open('Part')
          to.leaf('PartNumber', index + 1)
          to.leaf('ETag', etag)
          to.close()
        }
      },
    })
    await this.#store.creating(this.#name, async (headers, isRepeated) => {
      let refusal: RequestRefused | undefined
      try {
        await this.#completeOnce(body, headers)
        if (!isRepeated) return
      } catch (error) {
        if (!(error instanceof RequestRefused) || error.code !== 'NoSuchUpload') throw error
        refusal = error
      }
      if (isRepeated && (await isWhole())) return
      throw new EngineUnavailable(`the blob store at ${this.#store.host} has lost an upload in progress`, refusal)
    })
    if (this.#mayHaveTwin) await dropUploads(this.#store, this.#name).catch(() => {})
  }

  async #completeOnce(body: Buffer, headers: [string, string][]): Promise<void> {
    const key = this.#store.keyOf(this.#name)
    const query = { uploadId: this.#uploadId }
    const answer = await this.#store.ask({ method: 'POST', key, query, headers, body })
    // The status was sent before the store knew the outcome.
    if (documentOf(answer.body).name === 'Error') throw refusalOf(500, answer.body)
  }

  async abort(): Promise<void> {
    if (this.#mayHaveTwin) await dropUploads(this.#store, this.#name)
    else await dropUpload(this.#store, { name: this.#name, uploadId: this.#uploadId })
  }
}
