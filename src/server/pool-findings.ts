/** Judges the pool of a Ceph cluster that a server keeps its blobs in. */
import type { BlobCapacity } from '../blobs/blobs.ts'
import { parseRadosAddress } from '../blobs/rados/address.ts'
import type { PoolCopies } from '../blobs/rados/pool.ts'

export interface PoolFinding {
  readonly check: string
  readonly state: 'good' | 'odd' | 'bad'
  readonly found: string
  readonly advice?: string
}

const FREE_SHARE_ODD = 0.15
const FREE_SHARE_BAD = 0.03

function copiesFinding({ size, minSize }: PoolCopies): PoolFinding {
  const [check, found] = ['pool', `size ${size}, min_size ${minSize}`]
  if (size < 2) return { check, state: 'bad', found, advice: 'set size to 3: every lost disk loses objects' }
  const advice = 'set min_size to 2: writes that only one copy has are lost with that disk'
  if (minSize < 2) return { check, state: 'bad', found, advice }
  if (size > minSize) return { check, state: 'good', found }
  return { check, state: 'odd', found, advice: 'set size above min_size: the loss of one copy stops all writes' }
}

function spaceFinding({ totalBytes, freeBytes }: BlobCapacity): PoolFinding {
  const share = totalBytes === 0 ? 0 : freeBytes / totalBytes
  const [check, found] = ['pool space', `${(freeBytes / 2 ** 30).toFixed(1)} GiB free, ${Math.round(share * 100)} %`]
  const advice = 'add disks, or raise the quota: writes are refused when the pool is full'
  if (share < FREE_SHARE_BAD) return { check, state: 'bad', found, advice }
  return share < FREE_SHARE_ODD ? { check, state: 'odd', found, advice } : { check, state: 'good', found }
}

export const judgePool = (copies: PoolCopies, space: BlobCapacity): PoolFinding[] => [
  copiesFinding(copies),
  spaceFinding(space),
]

/** Empty for blobs that are not in a pool. */
export async function poolFindings(blobsPlace: string): Promise<PoolFinding[]> {
  if (!/^rados:/i.test(blobsPlace)) return []
  try {
    const { RadosPool } = await import('../blobs/rados/pool.ts')
    const pool = await RadosPool.connect(parseRadosAddress(new URL(blobsPlace)))
    try {
      return judgePool(await pool.copies(), await pool.capacity())
    } finally {
      await pool.close()
    }
  } catch (error) {
    const found = (error as Error).message
    return [{ check: 'pool', state: 'bad', found, advice: 'the server would not start' }]
  }
}
