/** A full check of a store in use, and clients and maintenance beside it. */
import { Compactor } from '../../src/maintenance/compact.ts'
import { OnlineFsck } from '../../src/maintenance/online-fsck.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import type { Damage } from '../../src/maintenance/scrub.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import type { ServerParts } from '../../src/server/compose.ts'
import type { Store } from '../../src/store/store.ts'
import { ANY_DEAD, below, chance, OWNER, PART_BYTES_MIN, payload, put, remove, turn, verdict } from './fixture.ts'

interface Found {
  readonly problems: string[]
  readonly damage: Damage[]
  readonly held: string[]
}

export async function check(parts: ServerParts, how: { deep?: boolean; signal?: AbortSignal } = {}): Promise<Found> {
  const found: Found = { problems: [], damage: [], held: [] }
  const { deep = true, signal = new AbortController().signal } = how
  const findings = {
    problem: (text: string) => found.problems.push(text),
    damage: (damage: Damage) => found.damage.push(damage),
    held: (version: string) => found.held.push(version),
  }
  const { context } = parts.store
  await new OnlineFsck({ context, snapshot: parts.snapshot, findings, deep, signal }).run()
  return found
}

export async function multipart(store: Store, key: string, sizes: readonly number[]): Promise<void> {
  const { id } = await store.uploads.create({ bucket: 'bucket', key, initiator: OWNER, owner: OWNER })
  const upload = { bucket: 'bucket', key, uploadId: id.toString('hex') }
  const parts: { number: number; etag: string }[] = []
  for (const [i, size] of sizes.entries()) {
    const { etag } = await store.uploads.putPart({ ...upload, number: i + 1, body: [payload(size, i)] })
    parts.push({ number: i + 1, etag })
  }
  await store.completion.complete({ ...upload, parts })
}

export type IsOver = () => Promise<boolean>
type Client = (stopped: IsOver) => Promise<void>

/** Nothing is freed during a check: clients that outrun it would fill the disk, and it would never end. */
const CHANGES_PER_CHECK_MAX = 20

/** Repeats a check until every client has begun this many changes, at least; fails as soon as a client does. */
export async function amidChanges(
  clients: readonly Client[],
  atLeast: { readonly rounds: number; readonly changes: number },
  runCheck: (round: number) => Promise<void>,
): Promise<void> {
  const begun = clients.map(() => 0)
  let isOver = false
  let checks = 0
  const working = Promise.all(
    clients.map((client, index) =>
      client(async () => {
        while (!isOver && begun[index]! >= (checks + 1) * CHANGES_PER_CHECK_MAX) await turn()
        if (!isOver) begun[index]!++
        return isOver
      }),
    ),
  )
  working.catch(() => {
    isOver = true
  })
  const isEnough = (round: number): boolean =>
    isOver || (round >= atLeast.rounds && Math.min(...begun) >= atLeast.changes)
  try {
    for (; !isEnough(checks); checks++) await runCheck(checks)
  } finally {
    isOver = true
  }
  await working
}

/** One client: puts, copies, uploads and deletes of keys that others use too. */
export async function change(store: Store, seed: number, stopped: IsOver): Promise<void> {
  const random = chance(seed)
  const sizes = [100, 6000, 90_000, 1_100_000]
  const key = (): string => `key-${below(random, 6)}`
  for (let changes = 0; !(await stopped()); changes++) {
    const dice = below(random, 10)
    if (dice < 3) await remove(store, 'bucket', key())
    else if (dice < 5) {
      const [from, to] = [
        { bucket: 'bucket', key: key() },
        { bucket: 'bucket', key: key() },
      ]
      await verdict(store.copies.copy({ from, to, owner: OWNER }))
    } else if (dice < 6) await multipart(store, `${key()}-parts`, [PART_BYTES_MIN, 1000])
    else await put(store, 'bucket', key(), payload(sizes[below(random, sizes.length)]!, changes))
    await turn()
  }
}

/** All maintenance that frees or moves bytes, again and again. */
export async function maintain({ context }: Store, stopped: IsOver): Promise<void> {
  const workers = [new Reclaimer(context), new Compactor(context, ANY_DEAD), new Sweeper(context)]
  while (!(await stopped())) {
    await context.blobs.closeVolume()
    for (const worker of workers) await worker.step()
    await turn()
  }
}
