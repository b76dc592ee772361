/** Small workloads, each of whose calls and commits is made to fail once. */
import { Compactor } from '../../src/maintenance/compact.ts'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { Sweeper } from '../../src/maintenance/sweep.ts'
import type { BucketName, Name, Operation } from './model.ts'
import type { Script } from './script.ts'

export interface Workload {
  readonly name: string
  /** Runs before anything fails. */
  prepare?(script: Script): Promise<void>
  run(script: Script): Promise<void>
}

const INLINE = 500
const PACKED = 6000
const SOLO = 30_000
const UPKEEP_STEPS = 8

const at = (key: string, bucket: BucketName = 'plain'): Name => ({ bucket, key })

let seeds = 0
const put = (to: Name, size: number, sealed = false): Operation => ({
  kind: 'put',
  to,
  pieces: [{ seed: ++seeds, size }],
  sealed,
})

function copy(script: Script, from: Name, to: Name, sealed = false): Operation {
  const source = script.expectation.state(from).find(stored => !stored.marker)
  return { kind: 'copy', from, to, pieces: source?.pieces ?? [], sealed }
}

async function each(script: Script, operations: readonly Operation[]): Promise<void> {
  for (const operation of operations) await script.run(operation)
}

const puts: Workload = {
  name: 'put',
  async run(script) {
    await each(script, [put(at('inline'), INLINE), put(at('packed'), PACKED), put(at('solo'), SOLO)])
    await each(script, [put(at('inline'), PACKED, true), put(at('packed'), SOLO, true), put(at('solo'), INLINE, true)])
    const together = [0, 1, 2, 3, 4, 5].map(n => put(at(`together-${n}`), PACKED + n, n % 2 === 0))
    await Promise.all(together.map(operation => script.run(operation)))
  },
}

const copies: Workload = {
  name: 'copy',
  async prepare(script) {
    await each(script, [put(at('inline'), INLINE), put(at('packed'), PACKED), put(at('solo'), SOLO, true)])
  },
  async run(script) {
    for (const [n, key] of ['inline', 'packed', 'solo'].entries()) {
      await script.run(copy(script, at(key), at(`${key}-copy`, 'versioned')))
      await script.run(copy(script, at(key), at(`${key}-sealed`), n !== 0))
      await script.run(copy(script, at(key), at(key)))
    }
  },
}

const removals: Workload = {
  name: 'delete',
  async prepare(script) {
    for (const bucket of ['plain', 'versioned'] as const) {
      for (const [n, size] of [INLINE, PACKED, SOLO].entries()) await script.run(put(at(`key-${n}`, bucket), size))
    }
    await script.run(copy(script, at('key-2'), at('shared')))
  },
  async run(script) {
    for (const key of ['key-0', 'key-1', 'key-2']) {
      await script.run({ kind: 'remove', to: at(key) })
      const to = at(key, 'versioned')
      const versionId = script.expectation.state(to)[0]!.id
      await script.run({ kind: 'hold', to, versionId, on: true })
      await script.run({ kind: 'remove', to })
      await script.run({ kind: 'remove', to, versionId })
      await script.run({ kind: 'hold', to, versionId, on: false })
      await script.run({ kind: 'remove', to, versionId })
    }
  },
}

const uploads: Workload = {
  name: 'multipart',
  async run(script) {
    const first = { seed: ++seeds, size: 5 * 2 ** 20 }
    const last = { seed: ++seeds, size: PACKED }
    await script.run({ kind: 'complete', to: at('whole'), pieces: [first, last], sealed: false })
    await script.run({ kind: 'complete', to: at('short', 'versioned'), pieces: [last], sealed: true })
    await script.run(copy(script, at('whole'), at('whole-copy')))
    await script.run({ kind: 'remove', to: at('whole') })
  },
}

/** Maintenance as a server runs it: step after step, even if one of them fails. */
async function maintenance(script: Script): Promise<void> {
  const { context } = script.process.store
  await script.attempt(() => context.blobs.closeVolume())
  const workers = [new Reclaimer(context), new Compactor(context), new Sweeper(context)]
  for (let step = 0; step < UPKEEP_STEPS; step++) {
    for (const worker of workers) await script.attempt(() => worker.step())
  }
}

const housekeeping: Workload = {
  name: 'maintenance',
  async prepare(script) {
    const numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    for (const n of numbers) await script.run(put(at(`key-${n}`), n % 3 === 2 ? SOLO : PACKED, n % 4 === 0))
    await script.run({ kind: 'complete', to: at('upload'), pieces: [{ seed: ++seeds, size: SOLO }], sealed: false })
    await script.run(copy(script, at('key-0'), at('kept')))
    for (const n of numbers) if (n !== 3) await script.run({ kind: 'remove', to: at(`key-${n}`) })
    await script.run({ kind: 'remove', to: at('upload') })
  },
  run: maintenance,
}

/** Everything under `old/` is long due. */
const RULES =
  '<LifecycleConfiguration><Rule><Status>Enabled</Status><Filter><Prefix>old/</Prefix></Filter>' +
  '<Expiration><Date>2000-01-01T00:00:00Z</Date></Expiration></Rule></LifecycleConfiguration>'

const lifecycle: Workload = {
  name: 'lifecycle',
  async prepare(script) {
    const { documents } = script.process.store
    for (const bucket of ['plain', 'versioned'] as const) await documents.put(bucket, 'lifecycle', RULES)
    for (const [n, size] of [INLINE, PACKED, SOLO].entries()) await script.run(put(at(`old/${n}`), size, n === 1))
    await each(script, [put(at('kept'), PACKED), copy(script, at('old/2'), at('shared'))])
    const held = at('old/held', 'versioned')
    await script.run(put(held, PACKED))
    await script.run({ kind: 'hold', to: held, versionId: script.expectation.state(held)[0]!.id, on: true })
  },
  async run(script) {
    for (const n of [0, 1, 2]) await script.run({ kind: 'expire', to: at(`old/${n}`) })
    // Removals refused for lack of space rightly happen in the next round.
    if ([0, 1, 2].some(n => script.expectation.state(at(`old/${n}`)).length > 0)) return
    // One more whole round: nothing else may be removed, least of all held versions.
    const worker = new Lifecycle(script.process.store.context)
    for (let step = 0; step < UPKEEP_STEPS; step++) await script.attempt(() => worker.step())
  },
}

export const WORKLOADS: readonly Workload[] = [puts, copies, removals, uploads, lifecycle, housekeeping]
