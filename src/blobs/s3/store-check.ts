/**
 * Tries whether another store is fit to hold blobs: what it acknowledged is visible at once, ranges are exact, and it
 * refuses bytes that were changed on the way. Everything is tried on objects of a new name, which are removed again.
 */
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { childText } from '../../lib/xml.ts'
import { documentOf, RequestRefused } from '../../s3/responses.ts'
import { dropUpload, MultipartUpload, unfinishedUploads } from './multipart.ts'
import { ObjectFile } from './object-file.ts'
import type { ObjectStore } from './object-store.ts'

/** Capabilities of the store that are used but not required. */
export interface StoreFacts {
  /** It refuses to replace an object when asked to. */
  readonly refusesOverwrites: boolean
  /** The checksums of an upload that it verifies. */
  readonly verifies: readonly ('MD5' | 'SHA-256')[]
}

/** The store works, but blobs would not be safe in it. */
export class UnfitStore extends Error {}

const FIRST = Buffer.from('the first bytes of this object')
const SECOND = Buffer.from('other bytes, as many as wanted')
/** A valid digest of other bytes. */
const WRONG_MD5 = 'AAAAAAAAAAAAAAAAAAAAAA=='
const WRONG_SHA256 = '0'.repeat(64)

/** `token` makes the names of the probes unique. */
export async function checkObjectStore(store: ObjectStore, token: string): Promise<StoreFacts> {
  const name = `check/${token}`
  const unfit = (what: string): UnfitStore =>
    new UnfitStore(`the store at ${store.host} is not fit to hold blobs: ${what}`)
  await refuseVersions(store, unfit)
  try {
    await store.put(name, [FIRST])
    if (!(await holds(store, name, FIRST))) throw unfit('an object that it has just stored reads differently')
    const middle = Buffer.alloc(5)
    await new ObjectFile(store, name).read([middle], 4)
    if (!middle.equals(FIRST.subarray(4, 9))) throw unfit('a range request returns other bytes')
    if (!(await isListed(store, name, FIRST.length))) throw unfit('an object that it has just stored is not listed')
    const refusesOverwrites = await isOverwriteRefused(store, name)
    await replace(store, name)
    if (!(await holds(store, name, SECOND))) throw unfit('an object that was just replaced reads as before')
    const verifies = await verified(store, name)
    if (verifies.length === 0) throw unfit('it accepts uploads whose checksums do not match their bytes')
    await tryUpload(store, name, unfit)
    await store.remove(name)
    if (await store.has(name)) throw unfit('an object that was just removed is still there')
    if (await isListed(store, name, SECOND.length)) throw unfit('an object that was just removed is still listed')
    return { refusesOverwrites, verifies }
  } finally {
    await store.remove(name).catch(() => {})
  }
}

/** Removed blobs would stay as old versions for ever. */
async function refuseVersions(store: ObjectStore, unfit: (what: string) => UnfitStore): Promise<void> {
  let status: string | undefined
  try {
    const response = await store.attempts(() => store.ask({ method: 'GET', query: { versioning: '' } }))
    status = childText(documentOf(response.body), 'Status')
  } catch (error) {
    // Some stores do not support the request, or the key may lack the permission.
    if (!(error instanceof RequestRefused)) throw error
  }
  if (status === 'Enabled') throw unfit('its bucket keeps old versions: use a bucket without versioning')
}

async function holds(store: ObjectStore, name: string, bytes: Buffer): Promise<boolean> {
  const found = Buffer.alloc(bytes.length)
  await new ObjectFile(store, name).read([found], 0)
  return found.equals(bytes)
}

async function isListed(store: ObjectStore, name: string, bytes: number): Promise<boolean> {
  for await (const listed of store.list(name)) if (listed.name === name && listed.bytes === bytes) return true
  return false
}

/** The status with which the store refuses the request; undefined if it does not. */
async function refusalStatus(store: ObjectStore, step: () => Promise<unknown>): Promise<number | undefined> {
  try {
    await store.attempts(step)
    return undefined
  } catch (error) {
    const original = error instanceof EngineUnavailable ? error.cause : error
    if (original instanceof RequestRefused && !original.isTransient) return original.status
    throw error
  }
}

const put = (store: ObjectStore, name: string, headers: [string, string][], bodyHash?: string) =>
  store.ask({
    method: 'PUT',
    key: store.keyOf(name),
    headers,
    body: SECOND,
    ...(bodyHash === undefined ? {} : { bodyHash }),
  })

async function isOverwriteRefused(store: ObjectStore, name: string): Promise<boolean> {
  return (await refusalStatus(store, () => put(store, name, [['if-none-match', '*']]))) === 412
}

async function replace(store: ObjectStore, name: string): Promise<void> {
  await store.attempts(() => put(store, name, []))
}

async function verified(store: ObjectStore, name: string): Promise<StoreFacts['verifies']> {
  const isMd5 = (await refusalStatus(store, () => put(store, name, [['content-md5', WRONG_MD5]]))) !== undefined
  const isSha256 = (await refusalStatus(store, () => put(store, name, [], WRONG_SHA256))) !== undefined
  return [...(isMd5 ? (['MD5'] as const) : []), ...(isSha256 ? (['SHA-256'] as const) : [])]
}

async function tryUpload(store: ObjectStore, name: string, unfit: (what: string) => UnfitStore): Promise<void> {
  const upload = await MultipartUpload.begin(store, name)
  try {
    for await (const unfinished of unfinishedUploads(store, name)) {
      if (unfinished.name !== name) continue
      await dropUpload(store, unfinished)
      return
    }
  } finally {
    await upload.abort()
  }
  throw unfit('an upload that was just begun is not listed, so abandoned ones could never be freed')
}
