/** Judges the pool of a Ceph cluster that a server keeps its blobs in. */
import type { BlobCapacity } from '../blobs/blobs.ts'
import { parseRadosAddress } from '../blobs/rados/address.ts'
import type { PoolCopies } from '../blobs/rados/pool.ts'
import { bad, type DoctorFinding, good, odd } from './doctor-finding.ts'

const FREE_SHARE_ODD = 0.15
const FREE_SHARE_BAD = 0.03

function copiesFinding({ size, minSize }: PoolCopies): DoctorFinding {
  const [check, found] = ['pool', `size ${size}, min_size ${minSize}`]
  if (size < 2) return bad(check, found, 'set size to 3: every lost disk loses objects')
  if (minSize < 2) return bad(check, found, 'set min_size to 2: writes that only one copy has are lost with that disk')
  if (size > minSize) return good(check, found)
  return odd(check, found, 'set size above min_size: the loss of one copy stops all writes')
}

function spaceFinding({ totalBytes, freeBytes }: BlobCapacity): DoctorFinding {
  const share = totalBytes === 0 ? 0 : freeBytes / totalBytes
  const [check, found] = ['pool space', `${(freeBytes / 2 ** 30).toFixed(1)} GiB free, ${Math.round(share * 100)} %`]
  const advice = 'add disks, or raise the quota: writes are refused when the pool is full'
  if (share < FREE_SHARE_BAD) return bad(check, found, advice)
  return share < FREE_SHARE_ODD ? odd(check, found, advice) : good(check, found)
}

export const judgePool = (copies: PoolCopies, space: BlobCapacity): DoctorFinding[] => [
  copiesFinding(copies),
  spaceFinding(space),
]

export async function poolFindings(blobsPlace: string): Promise<DoctorFinding[]> {
  try {
    const { RadosPool } = await import('../blobs/rados/pool.ts')
    const pool = await RadosPool.connect(parseRadosAddress(new URL(blobsPlace)))
    try {
      return judgePool(await pool.copies(), await pool.capacity())
    } finally {
      await pool.close()
    }
  } catch (error) {
    return [bad('pool', (error as Error).message, 'the server would not start')]
  }
}
