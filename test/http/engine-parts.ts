/** A store on the engines that `npm run test:cluster -- --suite http` has started: a table and a namespace for each. */
import type { Clock } from '../../src/lib/clock.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { openPostgresMeta } from '../../src/meta/postgres/postgres.ts'
import { openStore, type ServerParts } from '../../src/server/compose.ts'
import { POOL, SERVER } from '../engines.ts'

let stores = 0

export async function openOnEngines(clock: Clock, strictKeys: boolean): Promise<ServerParts> {
  const table = `t${process.pid}_${++stores}`
  const meta = await openPostgresMeta({ url: SERVER!, table })
  const blobsPlace = new URL(POOL!)
  blobsPlace.pathname = `/${table}`
  const place = { folder: '/', blobsPlace: blobsPlace.href, durability: 'os', strictKeys } as const
  const store = await openStore({ meta, disk: new MemoryDisk(), clock, random: systemRandom, ...place })
  return {
    store,
    snapshot: () => meta.snapshot(),
    reloadFindings: async () => {},
    async close() {
      await store.context.blobs.close()
      await meta.close()
    },
  }
}
