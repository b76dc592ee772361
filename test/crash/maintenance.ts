/** Maintenance until nothing is left to do, and the checks that must hold then. */

import { Compactor } from '../../src/maintenance/compact.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { Scrubber } from '../../src/maintenance/scrub.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import { blobFormat } from '../../src/model/content.ts'
import type { Store } from '../../src/store/store.ts'

const ROUNDS_MAX = 50

/** Aborts uploads that their writer did not live to complete. */
export async function abortUploads(store: Store): Promise<void> {
  for (const { name } of await store.buckets.list()) await store.uploads.abortAll(name)
}

/** Reclaiming creates new garbage and compaction empties volumes, so each repeats until none finds anything. */
export async function settle(store: Store): Promise<void> {
  const { context } = store
  const compactor = new Compactor(context)
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await runUntilIdle(new Reclaimer(context))
    await runUntilIdle(compactor)
    const [left] = await context.meta.scan({ start: Buffer.from('g'), end: Buffer.from('h') }, 1)
    if (left === undefined) {
      await runUntilIdle(new Sweeper(context))
      return
    }
  }
  throw new Error(`garbage is left after ${ROUNDS_MAX} rounds`)
}

export async function counts(store: Store): Promise<readonly string[]> {
  return (await fsck(store.context)).problems.map(problem => `fsck: ${problem}`)
}

/** Every stored byte matches its checksum. */
export async function scrub(store: Store): Promise<readonly string[]> {
  const scrubber = new Scrubber(store.context)
  await runUntilIdle(scrubber)
  const damaged = await scrubber.report()
  return damaged.map(({ message, objects }) => `scrub: ${message}, hurts ${objects.map(o => o.key).join()}`)
}

/** After a sweep every solo file has a record. */
export async function leaks(store: Store): Promise<readonly string[]> {
  const named = new Set<string>()
  for await (const entry of recordsOf(store.context, 'b')) {
    if (blobFormat.decode(entry.value).volume === undefined) named.add(entry.key.toString('hex', 1))
  }
  const problems: string[] = []
  for await (const id of store.context.blobs.solos()) {
    if (!named.delete(id.toString('hex'))) problems.push(`file ${id.toString('hex')} has no record`)
  }
  for (const id of named) problems.push(`blob ${id} has no file`)
  return problems
}

/** The whole check of an idle store: counts, maintenance, counts again, leaks, every byte. */
export async function audit(store: Store): Promise<readonly string[]> {
  const problems = [...(await counts(store))]
  await abortUploads(store)
  try {
    await settle(store)
  } catch (error) {
    problems.push(`maintenance: ${error}`)
  }
  return [...problems, ...(await counts(store)), ...(await leaks(store)), ...(await scrub(store))]
}
