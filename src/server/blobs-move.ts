/**
 * Decides at the start of a server whether its blobs are where the store knows them to be. Blobs of a store that moves
 * are in two places, so that a server with only one of them would miss some.
 */
import { createHash } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Meta } from '../meta/meta.ts'
import {
  type BlobsMove,
  type BlobsPlace,
  readBlobsMove,
  restoreBlobsMove,
  writeBlobsMove,
} from '../store/content/blobs-move.ts'
import { BadConfig } from './bad-config.ts'
import { isBlobsAddress, printableBlobsPlace } from './blob-driver.ts'

interface BlobsPlaces {
  readonly folder: string
  /** In the data folder when absent. */
  readonly blobsPlace?: string | undefined
  /** The place that blobs move from. */
  readonly blobsFrom?: string | undefined
}

export const blobsPlaceOf = ({ folder, blobsPlace }: BlobsPlaces): string => blobsPlace ?? join(folder, 'blobs')

/** Neither the record nor its digest depends on a password. */
function placeOf(place: string): BlobsPlace {
  const text = isBlobsAddress(place) ? place.replace(/\/\/[^/]*@/, '//') : resolve(place)
  return {
    id: createHash('sha256').update(text).digest(),
    name: isBlobsAddress(place) ? printableBlobsPlace(place) : text,
  }
}

const isOf = (move: BlobsMove, from: BlobsPlace, to: BlobsPlace): boolean =>
  move.from.id.equals(from.id) && move.to.id.equals(to.id)

const movingText = ({ from, to }: BlobsMove): string =>
  `the blobs of this store are being moved from ${from.name} to ${to.name}: start with --blobs ${to.name} ` +
  `--blobs-from ${from.name}, as the move was begun, until holdfast blobs move says that it is complete`

/**
 * Throws unless the server has every place that blobs may be in. Begins the move when `--blobs-from` names a new one;
 * only a server that is alone may do that, since others would not look for blobs in the new place.
 */
export async function enterBlobsMove(
  meta: Meta,
  places: BlobsPlaces,
  isAlone: () => MaybePromise<boolean>,
): Promise<void> {
  const to = placeOf(blobsPlaceOf(places))
  const from = places.blobsFrom === undefined ? undefined : placeOf(places.blobsFrom)
  const read = await readBlobsMove(meta)
  const move = read?.move
  if (from === undefined) {
    if (move?.state === 'moving') throw new BadConfig(movingText(move))
    if (move?.from.id.equals(to.id)) {
      throw new BadConfig(`the blobs of this store were moved from ${move.from.name} to ${move.to.name}: start with \
--blobs ${move.to.name}`)
    }
    return
  }
  if (move !== undefined && isOf(move, from, to)) return
  // Both places are read whatever the direction, so that a move can be reversed.
  if (move?.state === 'moving' && !isOf(move, to, from)) throw new BadConfig(movingText(move))
  const notAlone = new BadConfig('a move of blobs begins with one gateway: stop the others first')
  if (!(await isAlone())) throw notAlone
  const begun: BlobsMove = { state: 'moving', from, to, blobs: 0, bytes: 0, damaged: 0 }
  if (!(await writeBlobsMove(meta, read?.entry, begun)))
    throw new BadConfig('another server has begun to move the blobs')
  if (await isAlone()) return
  // A server that joined meanwhile may have found no move: this one has not begun.
  await restoreBlobsMove(meta, read?.entry)
  throw notAlone
}
