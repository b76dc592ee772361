/**
 * Copies one version to the target. Legal hold, retention, tags, ACL and metadata are part of the request that creates
 * it, so a version is complete or absent, also after a crash.
 */
import { createHash } from 'node:crypto'
import { systemClock } from '../../lib/clock.ts'
import { bareEtag } from '../../rules/conditional-requests.ts'
import { formatTimestamp } from '../../rules/http-date.ts'
import { LIMITS } from '../../rules/limits.ts'
import type { ClientResponse, S3Client } from '../../s3/client.ts'
import { type NeutralHeaders, NoResponse, neutralHeaders, RequestRefused, ResponseDamaged } from '../../s3/responses.ts'
import { withRetries } from '../../s3/retries.ts'
import { type AccessList, grantHeaders } from './grants.ts'
import type { ListedEntry } from './listing.ts'
import { copyInParts, passOn } from './parts.ts'
import type { Loss, Report } from './report.ts'
import { aboutVersion, fromSource } from './source-errors.ts'
import {
  accessListOf,
  attributesOf,
  checksumOf,
  hasForeignKey,
  isComposite,
  isDigest,
  lockOf,
  SOURCE_UNLOCKED,
  type SourceChecksum,
  type SourceLock,
  TagCount,
  type Tags,
} from './source-version.ts'
import type { State } from './state.ts'

/** Smaller versions are buffered before they are written: a retry is cheap, and the digest is known. */
const SMALL_BYTES_MAX = 4 * 2 ** 20
/** A retention date that passes while the request is in flight would make it invalid. */
const RETENTION_MS_MIN = 10_000

export interface TransferEndpoints {
  readonly source: S3Client
  readonly target: S3Client
  readonly sourceHasLock: boolean
  readonly targetHasLock: boolean
  readonly carriesLists: boolean
  /** Owner of the versions at the target; if it is unknown, no ACL can be written. */
  readonly newOwner: string | undefined
}

type Headers = readonly (readonly [string, string])[]

/** A version as the source describes it. */
interface Original {
  readonly responseHeaders: NeutralHeaders
  /** The bytes of a small version. */
  readonly body: Buffer | undefined
  readonly lock: SourceLock
  readonly tags: Tags
  readonly list: AccessList | undefined
  readonly checksum: SourceChecksum | undefined
}

/** Attributes of a version that the target has rejected. */
type Dropped = Set<Extract<Loss, 'storageClass' | 'acl' | 'tags'>>

export class Transfer {
  readonly #sides: TransferEndpoints
  readonly #state: State
  readonly #report: Report
  readonly #telling = new TagCount()
  readonly #strangers = new Set<string>()

  constructor(sides: TransferEndpoints, state: State, report: Report) {
    this.#sides = sides
    this.#state = state
    this.#report = report
  }

  async make(key: string, version: ListedEntry): Promise<void> {
    if (version.marker) {
      await this.#sides.target.requestOnce({ method: 'DELETE', key })
      this.#report.markers++
      return
    }
    const original = await this.#read(key, version)
    const dropped: Dropped = new Set()
    const etag = await this.#write(key, version, original, dropped)
    if (etag !== version.etag) this.#state.noteEtag(key, version, etag)
    const isProven = etag === version.etag || original.checksum?.type === 'FULL_OBJECT'
    if (isProven) this.#report.proven++
    else this.#report.asReceived++
    this.#report.copied++
    this.#report.bytes += version.size
    this.#tellLosses(key, version, original, dropped)
  }

  /** Compares the bytes of both sides where ETags prove nothing, and records equal ones. */
  async sameBytes(key: string, source: ListedEntry, target: ListedEntry): Promise<boolean> {
    const [one, other] = await Promise.all([
      fromSource(() => withRetries(() => digestOf(this.#sides.source, key, source.versionId))),
      withRetries(() => digestOf(this.#sides.target, key, target.versionId)),
    ])
    if (one !== other) return false
    this.#state.noteEtag(key, source, target.etag)
    return true
  }

  async #read(key: string, version: ListedEntry): Promise<Original> {
    const { source, sourceHasLock, carriesLists } = this.#sides
    const name = { key, versionId: version.versionId }
    const isSmall = version.size <= SMALL_BYTES_MAX && !isComposite(version.etag)
    const ask = { key, query: { versionId: version.versionId }, headers: [[':checksum-mode', 'ENABLED']] as const }
    const itself = (): Promise<{ responseHeaders: NeutralHeaders; body: Buffer | undefined }> =>
      isSmall
        ? withRetries(async () => checked(version, await source.requestOnce({ ...ask, method: 'GET' })))
        : source
            .request({ ...ask, method: 'HEAD' })
            .then(({ headers: responseHeaders }) => ({ responseHeaders, body: undefined }))
    const { responseHeaders, body } = await fromSource(itself)
    const beside = async () => ({
      lock: sourceHasLock ? await lockOf(source, name, responseHeaders) : SOURCE_UNLOCKED,
      tags: await this.#telling.tags(source, name, responseHeaders),
      list: carriesLists ? await accessListOf(source, name) : undefined,
    })
    const stillThere = (): Promise<unknown> => fromSource(() => source.request({ ...ask, method: 'HEAD' }))
    return { responseHeaders, body, checksum: checksumOf(responseHeaders), ...(await aboutVersion(beside, stillThere)) }
  }

  #headers({ responseHeaders, lock, tags, list }: Original, dropped: Dropped): Headers {
    const headers = [...attributesOf(responseHeaders)]
    const storageClass = responseHeaders.get(':storage-class')
    if (storageClass !== undefined && !dropped.has('storageClass')) headers.push([':storage-class', storageClass])
    if (tags.length > 0 && !dropped.has('tags')) {
      headers.push([':tagging', tags.map(pair => pair.map(encodeURIComponent).join('=')).join('&')])
    }
    const { newOwner, targetHasLock } = this.#sides
    if (list !== undefined && newOwner !== undefined && !dropped.has('acl')) {
      headers.push(...grantHeaders(list, newOwner, grantee => this.#strangers.has(grantee)))
    }
    if (targetHasLock && lock.hold) headers.push([':object-lock-legal-hold', 'ON'])
    if (targetHasLock && lock.retention !== undefined && lasts(lock.retention)) {
      headers.push([':object-lock-mode', lock.retention.mode])
      headers.push([':object-lock-retain-until-date', formatTimestamp(lock.retention.until)])
    }
    return headers
  }

  /** An error changes nothing at the target, so the version is tried again without the rejected attribute. */
  async #write(key: string, version: ListedEntry, original: Original, dropped: Dropped): Promise<string> {
    while (true) {
      try {
        return await this.#writeOnce(key, version, original, this.#headers(original, dropped))
      } catch (error) {
        if (!(error instanceof RequestRefused) || !this.#yields(error, original, dropped)) throw error
      }
    }
  }

  #yields({ code, argument }: RequestRefused, { responseHeaders, tags, list }: Original, dropped: Dropped): boolean {
    const grants = list?.grants ?? []
    if (code === 'InvalidArgument' && argument !== undefined && grants.some(({ grantee }) => grantee === argument)) {
      if (this.#strangers.has(argument)) return false
      this.#strangers.add(argument)
      return true
    }
    const drop = (what: Loss & ('storageClass' | 'acl' | 'tags'), isThere: boolean): boolean => {
      if (!isThere || dropped.has(what)) return false
      dropped.add(what)
      return true
    }
    if (code === 'InvalidStorageClass') return drop('storageClass', responseHeaders.has(':storage-class'))
    if (code === 'InvalidTag') return drop('tags', tags.length > 0)
    if (code === 'AccessControlListNotSupported') return drop('acl', grants.length > 0)
    // BlockPublicAcls may reject public ACLs.
    if (code === 'AccessDenied')
      return drop(
        'acl',
        grants.some(({ by }) => by === 'uri'),
      )
    return false
  }

  async #writeOnce(key: string, version: ListedEntry, original: Original, headers: Headers): Promise<string> {
    const { source, target } = this.#sides
    const { responseHeaders, body, checksum } = original
    const sum: Headers = checksum?.type === 'FULL_OBJECT' ? [[`:checksum-${checksum.algorithm}`, checksum.value]] : []
    if (body !== undefined) {
      const md5 = createHash('md5').update(body).digest()
      const all: Headers = [...headers, ...sum, ['content-md5', md5.toString('base64')]]
      const made = await target.requestOnce({ method: 'PUT', key, headers: all, body })
      return sameAs(md5.toString('hex'), made.headers)
    }
    const isWhole =
      isDigest(version.etag) && !hasForeignKey(responseHeaders) && version.size <= LIMITS.objectPutBytesMax
    if (!isWhole) {
      return copyInParts({ source, target, state: this.#state, key, version }, headers, checksum)
    }
    const claim = Buffer.from(version.etag, 'hex').toString('base64')
    const query = { versionId: version.versionId }
    const response = await fromSource(() => source.open({ method: 'GET', key, query }))
    const { responseHeaders: made, md5 } = await passOn(response, async stream => {
      const all: Headers = [...headers, ...sum, ['content-md5', claim]]
      return (await target.requestOnce({ method: 'PUT', key, headers: all, stream })).headers
    })
    return sameAs(md5, made)
  }

  #tellLosses(key: string, { versionId }: ListedEntry, original: Original, dropped: Dropped): void {
    const { lock, list, responseHeaders } = original
    const lose = (loss: Loss, why = ''): void => this.#report.lose(loss, key, versionId, why)
    for (const loss of dropped) lose(loss)
    if (!this.#sides.targetHasLock && lock.hold) lose('hold')
    if (lock.retention !== undefined) {
      const until = formatTimestamp(lock.retention.until)
      if (!lasts(lock.retention)) lose('expired', until)
      else if (!this.#sides.targetHasLock) lose('retention', until)
    }
    for (const { grantee } of dropped.has('acl') ? [] : (list?.grants ?? [])) {
      if (this.#strangers.has(grantee)) lose('grantee', grantee)
    }
    if (list !== undefined && this.#sides.newOwner === undefined) lose('acl')
    if (list === undefined && this.#sides.carriesLists) lose('untoldAcl')
    if (hasForeignKey(responseHeaders)) lose('key')
    if (responseHeaders.has(':missing-meta')) lose('metadata')
  }
}

const lasts = ({ until }: { readonly until: number }): boolean => until > systemClock.now() + RETENTION_MS_MIN

function checked(
  version: ListedEntry,
  { headers: responseHeaders, body }: ClientResponse,
): { responseHeaders: NeutralHeaders; body: Buffer } {
  if (body.length !== version.size) throw new ResponseDamaged(`received ${body.length} of ${version.size} bytes`)
  if (!isDigest(version.etag) || hasForeignKey(responseHeaders)) return { responseHeaders, body }
  const md5 = createHash('md5').update(body).digest('hex')
  if (md5 !== version.etag) throw new ResponseDamaged("the source's bytes are not what its entity tag says")
  return { responseHeaders, body }
}

function sameAs(md5: string, made: NeutralHeaders): string {
  const etag = bareEtag(made.get('etag') ?? '')
  if (isDigest(etag) && etag !== md5) throw new NoResponse('the target says that it has other bytes than were sent')
  return etag
}

async function digestOf(client: S3Client, key: string, versionId: string | undefined): Promise<string> {
  const response = await client.open({ method: 'GET', key, query: { versionId } })
  const hash = createHash('sha256')
  let bytes = 0
  try {
    for await (const chunk of response) {
      hash.update(chunk as Buffer)
      bytes += (chunk as Buffer).length
    }
  } catch (error) {
    throw new NoResponse(`the response was cut off: ${(error as Error).message}`)
  }
  const length = neutralHeaders(response.headers).get('content-length')
  if (length !== undefined && Number(length) !== bytes) throw new NoResponse('the response was cut off')
  return hash.digest('hex')
}
