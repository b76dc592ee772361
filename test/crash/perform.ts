/** Runs operations of the model on a store. */
import { Fault } from '../../src/model/faults.ts'
import type { KeyChoice } from '../../src/store/keys/content-keys.ts'
import { Expiry } from '../../src/store/objects/expiry.ts'
import type { Store } from '../../src/store/store.ts'
import { BUCKETS, type Operation } from './model.ts'
import { bytesOf, type Piece } from './payload.ts'

export const OWNER = 'crash'

const SEALED: { readonly encryption: KeyChoice } = { encryption: { by: 'service' } }

const keyOf = (sealed: boolean): { readonly encryption?: KeyChoice } => (sealed ? SEALED : {})

export async function makeBuckets(store: Store): Promise<void> {
  for (const name of BUCKETS) {
    try {
      await store.buckets.create({ name, owner: OWNER, lockEnabled: name === 'versioned' })
    } catch (error) {
      if (!(error instanceof Fault && error.code.startsWith('BucketAlready'))) throw error
    }
  }
}

/** Resolves when the operation is acknowledged, to the id of the version or marker it created, if any. */
export async function perform(store: Store, operation: Operation): Promise<string> {
  const { to } = operation
  switch (operation.kind) {
    case 'put': {
      const body = operation.pieces.flatMap(bytesOf)
      return (await store.objects.put({ ...to, owner: OWNER, body, ...keyOf(operation.sealed) })).id
    }
    case 'copy': {
      const { from, sealed } = operation
      return (await store.copies.copy({ from, to, owner: OWNER, ...keyOf(sealed) })).version.id
    }
    case 'complete':
      return upload(store, operation.to, operation.pieces, operation.sealed)
    case 'remove': {
      const { versionId } = operation
      const { marker } = await store.objects.remove({ ...to, versionId, owner: OWNER })
      return marker?.id ?? ''
    }
    case 'expire':
      return new Expiry(store.context).current(to.bucket, to.key, store.context.clock.now())
    case 'hold':
      return (await store.objects.setHold({ ...to, versionId: operation.versionId }, operation.on)).id
  }
}

async function upload(store: Store, to: Operation['to'], pieces: readonly Piece[], sealed: boolean): Promise<string> {
  const { id } = await store.uploads.create({ ...to, initiator: OWNER, owner: OWNER, ...keyOf(sealed) })
  const uploadId = id.toString('hex')
  const parts: { number: number; etag: string }[] = []
  for (const [index, piece] of pieces.entries()) {
    const part = await store.uploads.putPart({ ...to, uploadId, number: index + 1, body: bytesOf(piece) })
    parts.push({ number: part.number, etag: part.etag })
  }
  return (await store.completion.complete({ ...to, uploadId, parts })).id
}
