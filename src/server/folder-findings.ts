/** Judges a folder that a server writes to: its filesystem, its free space, and whether its disk honours syncs. */
import { mkdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { realDisk } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'
import { bad, type DoctorFinding, good, odd } from './doctor-finding.ts'
import { filesystemOf } from './filesystem.ts'

const ADVICE = {
  metadata: 'keep the data folder on a local disk with ext4 or xfs, mounted with barriers',
  bytes: 'keep blobs on ext4, xfs or a network filesystem that honours syncs, mounted with barriers',
}

function filesystemFindings(folder: string, holds: 'metadata' | 'bytes', prefix: string): DoctorFinding[] {
  const { kind, problems } = filesystemOf(folder, holds)
  if (problems.length === 0) return [good(`${prefix}filesystem`, kind)]
  return problems.map(problem => bad(`${prefix}filesystem`, problem, ADVICE[holds]))
}

const FREE_BYTES_MIN = 512 * 2 ** 20

function spaceFinding(folder: string, prefix: string): DoctorFinding {
  const { bavail, blocks, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const share = blocks === 0 ? 1 : bavail / blocks
  const [check, found] = [`${prefix}space`, `${(free / 2 ** 30).toFixed(1)} GiB free, ${Math.round(share * 100)} %`]
  if (free < FREE_BYTES_MIN || share < 0.01)
    return bad(check, found, 'free some space: writes are refused when it is full')
  return share < 0.1 ? odd(check, found, 'free some space before it is full') : good(check, found)
}

const SYNCS = 5
const SYNC_MS_MIN = 0.02

/** A disk that acknowledges a sync at once has most likely not written to stable storage. */
async function syncFinding(folder: string, prefix: string): Promise<DoctorFinding> {
  const place = join(folder, `doctor-${systemRandom.bytes(4).toString('hex')}`)
  mkdirSync(place, { mode: 0o700 })
  try {
    const file = await realDisk.open(join(place, 'probe'), 'create')
    const times: number[] = []
    for (let i = 0; i < SYNCS; i++) {
      await file.write([systemRandom.bytes(512)], i * 4096)
      const started = performance.now()
      await file.datasync()
      times.push(performance.now() - started)
    }
    await file.close()
    const median = times.sort((a, b) => a - b)[Math.floor(SYNCS / 2)]!
    const [check, found] = [`${prefix}sync`, `a sync takes ${median.toFixed(2)} ms`]
    if (median < SYNC_MS_MIN) return odd(check, found, 'make sure that the disk honours flushes: this is too fast')
    return good(check, found)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** `prefix` comes before the names of the checks. */
export async function folderFindings(
  folder: string,
  holds: 'metadata' | 'bytes',
  prefix = '',
): Promise<DoctorFinding[]> {
  return [
    ...filesystemFindings(folder, holds, prefix),
    spaceFinding(folder, prefix),
    await syncFinding(folder, prefix).catch((error: Error) =>
      bad(`${prefix}sync`, error.message, 'the server would not start: it cannot write there'),
    ),
  ]
}
