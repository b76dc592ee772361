/** The marker of the store that a prefix belongs to: two stores in one would free each other's blobs. */
import { NoResponse } from '../../s3/responses.ts'
import { ObjectFile } from './object-file.ts'
import { MissingObject, ObjectExists, type ObjectStore } from './object-store.ts'

const NAME = 'store'

const markerOf = (storeId: Buffer): Buffer => Buffer.from(`holdfast store ${storeId.toString('hex')}\n`)

async function currentMarker(store: ObjectStore): Promise<Buffer | undefined> {
  const file = new ObjectFile(store, NAME)
  try {
    const marker = Buffer.alloc(await file.size())
    await file.read([marker], 0)
    return marker
  } catch (error) {
    if (error instanceof MissingObject) return undefined
    throw error
  }
}

/** Throws if the prefix belongs to another store. */
export async function claimPrefix(store: ObjectStore, storeId: Buffer): Promise<void> {
  const own = markerOf(storeId)
  if ((await currentMarker(store)) === undefined) {
    await store.put(NAME, [own]).catch((error: unknown) => {
      // Another process was faster: the marker names its owner.
      if (!(error instanceof ObjectExists)) throw error
    })
  }
  const found = await currentMarker(store)
  if (found === undefined) throw new NoResponse(`${store.host} does not show the marker it has just stored`)
  if (found.equals(own)) return
  throw new Error(
    `the prefix at ${store.host} holds the blobs of another store (object ${store.keyOf(NAME)}): use another prefix`,
  )
}
