/** A copy of more than 5 GiB: an upload whose parts are ranges of the source. */
import { suspension } from '../api/suspension.ts'
import { readTags } from '../objects/details.ts'
import { escapeXml, send, sendForXml, textIn } from '../objects/request.ts'
import { confirmedEtag } from './confirmed-etag.ts'
import { attributeHeaders, type CopyOrder, descriptionHeaders, sourceHeaders } from './copy-order.ts'

const PART_BYTES = 2 ** 30
const AT_ONCE = 4
const CHECKSUM = /^x-amz-checksum-(?!type$|mode$)/

interface UploadPlace {
  readonly bucket: string
  readonly key: string
  readonly query: { readonly uploadId: string }
}

/** The algorithm of the source, which the upload must name for its parts. */
async function checksumHeaders({ from }: CopyOrder): Promise<Record<string, string>> {
  const { bucket, key, versionId } = from
  const query: Record<string, string> = versionId === undefined ? {} : { versionId }
  const head = await send({ method: 'HEAD', bucket, key, query, headers: { 'x-amz-checksum-mode': 'ENABLED' } })
  const name = [...head.headers.keys()].find(one => CHECKSUM.test(one))
  const type = head.headers.get('x-amz-checksum-type')
  if (name === undefined || type === null) return {}
  return { 'x-amz-checksum-algorithm': name.replace(CHECKSUM, '').toUpperCase(), 'x-amz-checksum-type': type }
}

async function tagHeaders({ from, source }: CopyOrder): Promise<Record<string, string>> {
  if (source.tagCount === 0) return {}
  const tags = await readTags(from.bucket, from.key, from.versionId)
  return { 'x-amz-tagging': new URLSearchParams(tags.map(([name, value]) => [name, value])).toString() }
}

async function create(order: CopyOrder): Promise<UploadPlace> {
  const { source, to } = order
  const own = {
    headers: [
      ['content-type', source.contentType] as const,
      ...source.headers.filter(([name]) => !name.startsWith('x-amz-')),
    ],
    metadata: source.metadata,
  }
  const headers = {
    ...descriptionHeaders(order.described ?? own),
    ...attributeHeaders(order),
    ...(await checksumHeaders(order)),
    ...(await tagHeaders(order)),
  }
  const root = await sendForXml({ method: 'POST', ...to, query: { uploads: '' }, headers })
  return { ...to, query: { uploadId: textIn(root, 'UploadId')! } }
}

/** Returns the row of the part in the list that completes the upload. */
async function copyPart(order: CopyOrder, upload: UploadPlace, number: number): Promise<string> {
  order.signal?.throwIfAborted()
  const start = (number - 1) * PART_BYTES
  const end = Math.min(start + PART_BYTES, order.source.size)
  const headers = { ...sourceHeaders(order), 'x-amz-copy-source-range': `bytes=${start}-${end - 1}` }
  const query = { ...upload.query, partNumber: String(number) }
  const root = await sendForXml({ method: 'PUT', ...upload, query, headers })
  const sums = [...root.children].filter(({ localName }) => localName === 'ETag' || localName.startsWith('Checksum'))
  const rows = sums.map(({ localName, textContent }) => `<${localName}>${escapeXml(textContent ?? '')}</${localName}>`)
  return `<Part><PartNumber>${number}</PartNumber>${rows.join('')}</Part>`
}

async function complete({ isNew, signal }: CopyOrder, upload: UploadPlace, rows: readonly string[]): Promise<string> {
  signal?.throwIfAborted()
  const headers: Record<string, string> = isNew ? { 'if-none-match': '*' } : {}
  const body = `<CompleteMultipartUpload>${rows.join('')}</CompleteMultipartUpload>`
  return confirmedEtag(await sendForXml({ method: 'POST', ...upload, headers }, { body }))
}

export async function copyInParts(order: CopyOrder): Promise<string> {
  const upload = await create(order)
  try {
    const rows: string[] = []
    const numbers = Array.from({ length: Math.ceil(order.source.size / PART_BYTES) }, (_, i) => i + 1)
    const left = numbers.values()
    const copyNext = async (): Promise<void> => {
      for (const number of left) rows[number - 1] = await copyPart(order, upload, number)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, copyNext))
    return await complete(order, upload, rows)
  } catch (error) {
    // Parts that cannot be freed now are freed by the bucket's rule for incomplete uploads.
    const { signal = new AbortController().signal } = order
    await suspension
      .over(signal)
      .then(() => send({ method: 'DELETE', ...upload }))
      .catch(() => {})
    throw error
  }
}
