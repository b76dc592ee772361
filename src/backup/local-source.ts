/** A backup's source in the process that has the store. */
import type { BackupSource } from './backup-options.ts'
import type { BackupLeases } from './lease.ts'

/** `pace` is called before every piece; it may wait, or throw to end the backup. */
export function localSource(leases: BackupLeases, pace: () => Promise<void> | void = () => {}): BackupSource {
  const paced = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      await pace()
      yield piece
    }
  }
  return {
    start: () => leases.start(),
    records: backup => paced(leases.records(backup)),
    blobs: (backup, ids) => paced(leases.blobs(backup, ids)),
    keep: async backup => leases.keep(backup),
    end: backup => leases.end(backup),
  }
}
