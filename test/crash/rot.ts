/** A stored world to be damaged, and the check that distinguishes right bytes, errors and wrong bytes. */
import { createHash } from 'node:crypto'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Scrubber } from '../../src/maintenance/scrub.ts'
import { Fault } from '../../src/model/faults.ts'
import { openFolder } from '../../src/server/compose.ts'
import type { Store } from '../../src/store/store.ts'
import { type BucketName, Expectation, labelOf, type Name, nameOf, type Operation, type Stored } from './model.ts'
import { digestOf, type Piece } from './payload.ts'
import { makeBuckets, perform } from './perform.ts'

const MIB = 2 ** 20

/** Objects of every kind; half of the packed ones are dead, so that compaction has something to do. */
export async function build(folder: string): Promise<Expectation> {
  const { store, close } = await openFolder({ folder })
  const expectation = new Expectation()
  let seed = 0
  const run = async (operation: Operation): Promise<void> => {
    expectation.begin(operation)
    expectation.acknowledge(operation, await perform(store, operation))
  }
  const piece = (size: number): Piece => ({ seed: ++seed, size })
  const put = (bucket: BucketName, key: string, size: number): Promise<void> =>
    run({ kind: 'put', to: { bucket, key }, pieces: [piece(size)], sealed: seed % 3 === 0 })
  await makeBuckets(store)
  for (let n = 0; n < 24; n++) await put('plain', `inline-${n}`, 100 + n * 150)
  for (let n = 0; n < 24; n++) await put('plain', `packed-${n}`, 5000 + n * 900)
  for (let n = 0; n < 4; n++) await put('plain', `solo-${n}`, MIB + 1 + n)
  for (let n = 0; n < 12; n++) await put('versioned', `versions-${n % 4}`, n % 2 === 0 ? 900 : 9000)
  const parts = { kind: 'complete', to: { bucket: 'plain', key: 'parts' }, sealed: false } as const
  await run({ ...parts, pieces: [piece(5 * MIB), piece(7000)] })
  const source = { bucket: 'plain', key: 'packed-1' } as const
  const { pieces } = expectation.state(source)[0]!
  await run({ kind: 'copy', from: source, to: { bucket: 'versioned', key: 'copy' }, pieces, sealed: true })
  for (let n = 0; n < 24; n += 2) await run({ kind: 'remove', to: { bucket: 'plain', key: `packed-${n}` } })
  const held = { bucket: 'versioned', key: 'versions-0' } as const
  await run({ kind: 'hold', to: held, versionId: expectation.state(held)[0]!.id, on: true })
  await close()
  return expectation
}

export interface Look {
  /** Versions that failed with an error, as bucket/key@version. */
  readonly unreadable: readonly string[]
  /** Versions that are reported as absent. */
  readonly missing: readonly string[]
  /** Versions with wrong bytes or a wrong hold. */
  readonly wrong: readonly string[]
  readonly right: number
}

type Seen = 'right' | 'unreadable' | 'missing' | 'wrong'

async function see(store: Store, name: Name, stored: Stored): Promise<Seen> {
  const hash = createHash('sha256')
  try {
    const handle = await store.objects.open({ ...name, versionId: stored.id })
    const held = handle.version.lock.hold === true
    for await (const chunk of handle.read()) hash.update(chunk)
    return held === stored.hold && hash.digest('hex') === digestOf(stored.pieces) ? 'right' : 'wrong'
  } catch (error) {
    const gone = error instanceof Fault && error.status === 404
    return gone ? 'missing' : 'unreadable'
  }
}

export async function lookAtAll(store: Store, expectation: Expectation): Promise<Look> {
  const found = { unreadable: [] as string[], missing: [] as string[], wrong: [] as string[] }
  let right = 0
  for (const label of expectation.labels()) {
    const name = nameOf(label)
    for (const stored of expectation.state(name)) {
      if (stored.marker) continue
      const seen = await see(store, name, stored)
      if (seen === 'right') right++
      else found[seen].push(`${labelOf(name)}@${stored.id}`)
    }
  }
  return { ...found, right }
}

export interface Scrubbed {
  readonly damages: number
  /** Everything that the scrubber reports as damaged, as bucket/key@version. */
  readonly hurt: ReadonlySet<string>
}

export async function scrubAll(store: Store): Promise<Scrubbed> {
  const scrubber = new Scrubber(store.context)
  await runUntilIdle(scrubber)
  const report = await scrubber.report()
  const hurt = report.flatMap(damage => damage.objects)
  return {
    damages: report.length,
    hurt: new Set(hurt.map(({ bucket, key, versionId }) => `${bucket}/${key}@${versionId}`)),
  }
}

/** True when counting finds a discrepancy. */
export async function countsDiffer(store: Store): Promise<boolean> {
  try {
    return (await fsck(store.context)).problems.length > 0
  } catch {
    return true
  }
}
