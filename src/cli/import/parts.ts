/** Copies large versions by multipart upload. Parts are streamed, so memory does not grow with the object. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { pipeline, Transform } from 'node:stream'
import { childText } from '../../lib/xml.ts'
import { renderXml } from '../../lib/xml-writer.ts'
import { bareEtag } from '../../rules/conditional-requests.ts'
import { LIMITS } from '../../rules/limits.ts'
import type { S3Client } from '../../s3/client.ts'
import {
  documentOf,
  type NeutralHeaders,
  NoResponse,
  RequestRefused,
  ResponseDamaged,
  refusalOf,
} from '../../s3/responses.ts'
import { withRetries } from '../../s3/retries.ts'
import type { ListedEntry } from './listing.ts'
import { fromSource, SourceUnreadable } from './source-errors.ts'
import { isComposite, type SourceChecksum } from './source-version.ts'
import type { State } from './state.ts'

const OWN_PART_BYTES = 16 * 2 ** 20

interface Place {
  readonly source: S3Client
  readonly target: S3Client
  readonly state: State
  readonly key: string
  readonly version: ListedEntry
}

/** The number of parts, and the request that reads one from the source. */
interface Layout {
  readonly parts: number
  /** The object's original parts, which reproduce its ETag and its checksum. */
  readonly isSources: boolean
  ask(number: number): { readonly query: Record<string, string | number>; readonly headers: [string, string][] }
}

function ownLayout({ size, etag }: ListedEntry): Layout {
  const bytes = Math.max(OWN_PART_BYTES, Math.ceil(size / LIMITS.partNumberMax))
  return {
    parts: Math.max(1, Math.ceil(size / bytes)),
    isSources: false,
    ask: number => {
      const start = (number - 1) * bytes
      const end = Math.min(size, start + bytes) - 1
      // The object must not change between two reads.
      const headers: [string, string][] = [['if-match', `"${etag}"`]]
      if (size > 0) headers.push(['range', `bytes=${start}-${end}`])
      return { query: {}, headers }
    },
  }
}

/** Servers that do not support reads by part number reject them in many ways, or fail every time. */
const TELLING_ATTEMPTS_MAX = 3

function untold(error: unknown): undefined {
  const isRefusal = error instanceof SourceUnreadable || (error instanceof RequestRefused && error.status !== 503)
  if (!isRefusal) throw error
}

/** The source's parts, if it reports them and their sizes are valid at the target. */
async function layoutOf({ source, key, version }: Place): Promise<Layout> {
  const own = ownLayout(version)
  if (!isComposite(version.etag)) return own
  const parts = Number(version.etag.split('-')[1])
  const query = { versionId: version.versionId, partNumber: 1 }
  const head = () => source.requestOnce({ method: 'HEAD', key, query })
  const first = await fromSource(() => withRetries(head, { attemptsMax: TELLING_ATTEMPTS_MAX })).catch(untold)
  const isTold = first !== undefined && Number(first.headers.get(':mp-parts-count')) === parts
  const isLarge = parts === 1 || Number(first?.headers.get('content-length')) >= LIMITS.partBytesMin
  if (!isTold || !isLarge) return own
  return { parts, isSources: true, ask: number => ({ query: { partNumber: number }, headers: [] }) }
}

/** The source reports parts but does not serve them one by one. */
class NoSuchParts extends Error {}

interface Sent {
  readonly number: number
  readonly etag: string
  readonly checksum: string | undefined
}

function lengthOf(incoming: IncomingMessage): number {
  const length = Number(incoming.headers['content-length'])
  if (Number.isSafeInteger(length)) return length
  incoming.destroy()
  throw new NoResponse('the source does not say how long its response is')
}

/** Streams a response of the source to the target and hashes it on the way. */
export async function passOn(
  incoming: IncomingMessage,
  send: (stream: { readonly from: Transform; readonly length: number }) => Promise<NeutralHeaders>,
): Promise<{ readonly responseHeaders: NeutralHeaders; readonly md5: string }> {
  const md5 = createHash('md5')
  const length = lengthOf(incoming)
  const from = new Transform({
    transform: (chunk: Buffer, _, done) => {
      md5.update(chunk)
      done(null, chunk)
    },
  })
  // An error of the source destroys the request that it feeds, and that request reports it.
  pipeline(incoming, from, () => {})
  try {
    const responseHeaders = await send({ from, length })
    return { responseHeaders, md5: md5.digest('hex') }
  } finally {
    incoming.destroy()
  }
}

async function sendPart(place: Place, layout: Layout, uploadId: string, number: number, sum: string): Promise<Sent> {
  const { source, target, key, version } = place
  const { query, headers } = layout.ask(number)
  const from = { method: 'GET' as const, key, query: { versionId: version.versionId, ...query }, headers }
  const incoming = await fromSource(() => source.open(from))
  if (layout.isSources && layout.parts > 1 && lengthOf(incoming) >= version.size) {
    incoming.destroy()
    throw new NoSuchParts()
  }
  const { responseHeaders, md5 } = await passOn(incoming, async stream => {
    const to = { method: 'PUT' as const, key, query: { partNumber: number, uploadId }, stream }
    return (await target.requestOnce(to)).headers
  })
  const etag = bareEtag(responseHeaders.get('etag') ?? '')
  if (etag !== md5) throw new ResponseDamaged(`part ${number} was damaged in transit`)
  return { number, etag, checksum: sum === '' ? undefined : responseHeaders.get(`:checksum-${sum}`) }
}

const partList = (parts: readonly Sent[], sum: string): Buffer =>
  renderXml({
    root: 'CompleteMultipartUpload',
    write(to) {
      for (const { number, etag, checksum } of parts) {
        to.open('Part')
        to.leaf('PartNumber', number)
        to.leaf('ETag', `"${etag}"`)
        to.leaf(`Checksum${sum.toUpperCase()}`, checksum)
        to.close()
      }
    },
  })

function claimHeaders(checksum: SourceChecksum | undefined, layout: Layout): [string, string][] {
  // A composite checksum holds only for the same parts.
  if (checksum === undefined || (checksum.type === 'COMPOSITE' && !layout.isSources)) return []
  return [
    [`:checksum-${checksum.algorithm}`, checksum.value],
    [':checksum-type', checksum.type],
  ]
}

async function throughParts(
  place: Place,
  headers: readonly (readonly [string, string])[],
  checksum: SourceChecksum | undefined,
  layout: Layout,
): Promise<string> {
  const { target, state, key, version } = place
  const declared: [string, string][] =
    checksum === undefined
      ? []
      : [
          [':checksum-algorithm', checksum.algorithm.toUpperCase()],
          [':checksum-type', checksum.type],
        ]
  const begun = await target.requestOnce({
    method: 'POST',
    key,
    query: { uploads: '' },
    headers: [...headers, ...declared],
  })
  const uploadId = childText(documentOf(begun.body), 'UploadId') ?? ''
  state.noteUpload(key, uploadId)
  try {
    const sum = checksum?.algorithm ?? ''
    const sent: Sent[] = []
    for (let number = 1; number <= layout.parts; number++) {
      sent.push(await withRetries(() => sendPart(place, layout, uploadId, number, sum)))
    }
    const claims: [string, string][] = [[':mp-object-size', String(version.size)], ...claimHeaders(checksum, layout)]
    const body = partList(sent, sum)
    const { body: done } = await target.requestOnce({ method: 'POST', key, query: { uploadId }, headers: claims, body })
    const root = documentOf(done)
    // CompleteMultipartUpload may start its response before the outcome is known.
    if (root.name === 'Error') throw refusalOf(400, done)
    state.noteEnd(uploadId)
    return bareEtag(childText(root, 'ETag') ?? '')
  } catch (error) {
    // An upload that cannot be aborted now is aborted by the next run, which finds it in the state file.
    await target.requestOnce({ method: 'DELETE', key, query: { uploadId } }).then(
      () => state.noteEnd(uploadId),
      () => {},
    )
    throw error
  }
}

/** Copies the version by multipart upload and returns its ETag at the target. */
export async function copyInParts(
  place: Place,
  headers: readonly (readonly [string, string])[],
  checksum: SourceChecksum | undefined,
): Promise<string> {
  const layout = await layoutOf(place)
  try {
    return await throughParts(place, headers, checksum, layout)
  } catch (error) {
    const isUnfit = error instanceof NoSuchParts || (error instanceof RequestRefused && error.code === 'EntityTooSmall')
    if (!isUnfit || !layout.isSources) throw error
    return throughParts(place, headers, checksum, ownLayout(place.version))
  }
}
