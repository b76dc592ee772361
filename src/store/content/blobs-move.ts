/**
 * The record of a move of all blobs from one place to another. It outlives the move, so that nothing starts on the old
 * place.
 */
import { fixed, format, struct, text, uint, word } from '../../lib/codec.ts'
import type { Entry, Meta } from '../../meta/meta.ts'
import { recordKey } from '../commit/record-keys.ts'

export interface BlobsPlace {
  /** Digest of the place, since an address may be long and its options do not identify it. */
  readonly id: Buffer
  /** For messages. */
  readonly name: string
}

export interface BlobsMove {
  readonly state: 'moving' | 'moved'
  readonly from: BlobsPlace
  readonly to: BlobsPlace
  /** Blobs and bytes copied so far, since the move began. */
  readonly blobs: number
  readonly bytes: number
  /** Blobs that could not be read in the last round. */
  readonly damaged: number
}

const placeCodec = struct<BlobsPlace>({ id: fixed(32), name: text })

const moveFormat = format<BlobsMove>(
  'BM',
  struct<BlobsMove>({
    state: word('moving', 'moved'),
    from: placeCodec,
    to: placeCodec,
    blobs: uint,
    bytes: uint,
    damaged: uint,
  }),
)

/** A move that no other process has changed since it was read. */
interface ReadMove {
  readonly entry: Entry
  readonly move: BlobsMove
}

/** Undefined for blobs that never moved. */
export async function readBlobsMove(meta: Meta): Promise<ReadMove | undefined> {
  const entry = await meta.get(recordKey.blobsMove())
  return entry && { entry, move: moveFormat.decode(entry.value) }
}

/** False when the record has changed since it was read. */
export function writeBlobsMove(meta: Meta, before: Entry | undefined, move: BlobsMove): Promise<boolean> {
  const key = recordKey.blobsMove()
  return meta.commit({
    checks: [{ key, stamp: before?.stamp }],
    writes: [{ key, value: moveFormat.encode(move) }],
  })
}

/** The record as it was before a move that did not begin; undefined when there was none. */
export async function restoreBlobsMove(meta: Meta, before: Entry | undefined): Promise<void> {
  const key = recordKey.blobsMove()
  const now = await meta.get(key)
  await meta.commit({ checks: [{ key, stamp: now?.stamp }], writes: [{ key, value: before?.value }] })
}
