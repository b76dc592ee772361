/** Blobs in a pool of a Ceph cluster: the same volumes and solo files as in a folder, as striped objects. */
import type { Blobs } from '../blobs.ts'
import { type BlobsOptions, openBlobs } from '../file-blobs.ts'
import type { RadosAddress } from './address.ts'
import { claimNamespace } from './claim.ts'
import { RadosPool } from './pool.ts'
import { RadosDisk } from './rados-disk.ts'

interface RadosBlobsOptions extends Pick<BlobsOptions, 'writer' | 'reserveBytes'> {
  /** Claims the namespace for this store, or throws if it belongs to another one. */
  readonly storeId?: Buffer | undefined
}

export async function openRadosBlobs(address: RadosAddress, options: RadosBlobsOptions): Promise<Blobs> {
  const { storeId, ...given } = options
  const pool = await RadosPool.connect(address)
  try {
    if (storeId !== undefined) await claimNamespace(pool.namespace(`${address.namespace}:claim`), storeId)
    const disk = new RadosDisk(pool, address.namespace)
    const blobs = await openBlobs({ ...given, disk, folder: '/' })
    const close = blobs.close.bind(blobs)
    return Object.assign(blobs, {
      capacity: () => disk.capacity(),
      async close() {
        await close()
        await pool.close()
      },
    })
  } catch (error) {
    await pool.close()
    throw error
  }
}
