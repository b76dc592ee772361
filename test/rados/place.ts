/** Places of blobs in the pools of the tests' own Ceph. */
import type { BlobId, BlobLocation, Blobs } from '../../src/blobs/blobs.ts'
import { parseRadosAddress } from '../../src/blobs/rados/address.ts'
import { openRadosBlobs } from '../../src/blobs/rados/rados-blobs.ts'

export interface Place {
  readonly conf: string
  readonly pool: string
  readonly namespace: string
}

let namespaces = 0
export const newNamespace = (): string => `test-${process.pid}-${++namespaces}`

export const addressOf = ({ conf, pool, namespace }: Place): string => `rados://${pool}/${namespace}?conf=${conf}`

export const openPool = (place: Place, options: { writer: Buffer; reserveBytes?: number }): Promise<Blobs> =>
  openRadosBlobs(parseRadosAddress(new URL(addressOf(place))), options)

export async function readAll(blobs: Blobs, id: BlobId, location: BlobLocation): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of blobs.read(id, location, 0, location.length)) parts.push(part)
  return Buffer.concat(parts)
}

export function idOf(writer: Buffer, number: number): BlobId {
  const id = Buffer.alloc(16)
  id.set(writer)
  id.writeUInt32BE(number, 12)
  return id
}

const DEADLINE_MS = 90_000

/** Repeats an operation until it returns true, with a turn of the event loop in between. */
export async function repeatUntil(what: string, attempt: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS
  while (!(await attempt())) {
    if (performance.now() > deadline) throw new Error(`${what}: not after ${DEADLINE_MS} ms`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
