/**
 * Runs with a file size limit, as on a full disk, and prints the outcome of its commits. The first argument is the
 * folder; `roomy` as the second makes the disk claim free space, so that EIO has no harmless cause.
 */
import { realDisk } from '../../lib/disk.ts'
import { openLmdbMeta } from './lmdb.ts'

const [path, claim] = process.argv.slice(2)
let unhandled = 0
process.on('unhandledRejection', () => unhandled++)

const meta = await openLmdbMeta({
  path: path!,
  disk: { ...realDisk, free: async () => (claim === 'roomy' ? 2 ** 30 : 0) },
})
const key = (index: number): Buffer => Buffer.from(`key ${String(index).padStart(6, '0')}`)
const value = Buffer.alloc(4_300, 'v')

/** Outcomes of a group of commits issued together. */
async function tally(from: number, count: number, size = value.length): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {}
  const tries = Array.from({ length: count }, async (_, index) => {
    const writes = [{ key: key(from + index), value: value.subarray(0, size) }]
    const checks = [{ key: key(from + index), stamp: undefined }]
    return String(await meta.commit({ checks, writes }).catch((error: Error) => error.name))
  })
  for (const outcome of await Promise.all(tries)) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  return outcomes
}

const rounds: Record<string, number>[] = []
let stored = 0
for (let round = 0; round < 20 && Object.keys(rounds.at(-1) ?? { true: 0 }).join() === 'true'; round++) {
  rounds.push(await tally(round * 40, 40))
  stored += rounds.at(-1)!.true ?? 0
}
const readable = (await meta.scan({ start: Buffer.alloc(1), end: undefined }, 10_000)).length
const removed = await meta
  .commit({ checks: [], writes: Array.from({ length: 80 }, (_, index) => ({ key: key(index), value: undefined })) })
  .catch((error: Error) => error.name)
// Pages freed by a commit become reusable two commits later.
const afterwards = [await tally(90_000, 1, 10), await tally(90_001, 1, 10), await tally(90_002, 20)]
await new Promise(resolve => setImmediate(resolve))
process.stdout.write(`${JSON.stringify({ last: rounds.at(-1), stored, readable, removed, afterwards, unhandled })}\n`)
process.exit(0)
