/** A server on metadata that are behind a network. */
import { ManualClock } from '../../src/lib/clock.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { openStore } from '../../src/server/compose.ts'
import { RemoteMeta } from './remote-meta.ts'
import { type Client, type Served, serveParts } from './server.ts'

export async function withRemoteServer(
  use: (client: Client, meta: RemoteMeta, served: Served) => Promise<void>,
): Promise<void> {
  const [clock, meta, disk] = [new ManualClock(), await RemoteMeta.open(), new MemoryDisk()]
  const place = { folder: '/', blobsPlace: '/blobs', durability: 'os', strictKeys: false } as const
  const store = await openStore({ meta, disk, clock, random: systemRandom, ...place })
  const parts = {
    store,
    snapshot: () => meta.snapshot(),
    reloadFindings: async () => {},
    async close() {
      await store.context.blobs.close()
      await meta.close()
    },
  }
  await serveParts(parts, clock, served => use(served.s3, meta, served))
}
