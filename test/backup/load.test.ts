/** Backups of the real program under load: taken, killed, taken again, and compared with what clients saw. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { Fault } from '../../src/model/faults.ts'
import type { ServerParts } from '../../src/server/compose.ts'
import { holdfast, launch, ROOT, spawnServer } from '../cli/program.ts'
import { put } from '../http/actions.ts'
import { BASE_HOST, Client, type Who } from '../http/server.ts'
import { bytesOf, payload, withFolder } from '../store/fixture.ts'
import { assertSound, opened, sha } from './fixture.ts'
import { GONE, Histories, PLAIN, prepare, work } from './load.ts'

const CLIENTS = 3
const OLD_OBJECTS = 40
const OLD_BYTES = 1_500_000

/** The current state by the clients' names: the digest of an object, or its hold. */
async function statesOf({ store }: ServerParts, names: readonly string[]): Promise<Map<string, string>> {
  const states = new Map<string, string>()
  for (const name of names) {
    const slash = name.indexOf('/')
    const which = { bucket: name.slice(0, slash), key: name.slice(slash + 1) }
    try {
      const { version } = await store.objects.open(which)
      const bytes = await bytesOf(store, which)
      const isPlain = which.bucket === PLAIN
      states.set(name, isPlain ? sha(bytes) : version.lock.hold === true ? 'ON' : 'OFF')
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      states.set(name, GONE)
    }
  }
  return states
}

function bytesBelow(folder: string): number {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map(name => statSync(join(folder, name)))
      .reduce((sum, { size }) => sum + size, 0)
  } catch {
    // Not created yet, or just removed.
    return 0
  }
}

/** Looking without a pause would take the processor from the backup. */
const nextLook = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 10))

/** Kills a backup as soon as it has copied this much. */
async function killedBackup(args: readonly string[], vault: string, bytes: number): Promise<void> {
  const child = launch(['backup', vault, ...args])
  const ended = once(child, 'exit')
  while (child.exitCode === null && bytesBelow(join(vault, 'blobs')) < bytes) await nextLook()
  child.kill('SIGKILL')
  assert.equal((await ended)[1], 'SIGKILL', 'it was over before it could be killed')
}

interface Report {
  readonly run: string
  readonly blobs: { readonly count: number; readonly copied: number; readonly copiedBytes: number }
}

async function backup(args: readonly string[], vault: string): Promise<Report> {
  const { code, out, errors } = await holdfast(['backup', vault, '--with-keyring', '--json', ...args])
  assert.deepEqual([code, errors], [0, ''])
  return JSON.parse(out) as Report
}

test('a backup under load with two workers is consistent, resumes after a kill, and restores completely', () =>
  withFolder(async outer => {
    const [data, vault] = [join(outer, 'data'), join(outer, 'vault')]
    const at = ['--data', data]
    const server = await spawnServer([...at, '--workers', '2', '--base-host', BASE_HOST])
    const histories = new Histories()
    const taken: { run: string; start: number; end: number }[] = []
    try {
      const clock = new ManualClock(Date.now())
      const port = Number(new URL(server.url).port)
      const as = ROOT as Who
      const client = new RootClient('svc', clock, port, as)
      await prepare(client)
      for (let i = 0; i < OLD_OBJECTS; i++) await put(client, PLAIN, `/old-${i}`, payload(OLD_BYTES, i))
      let stopped = false
      const working = Array.from({ length: CLIENTS }, (_, i) => work(client, i + 1, histories, () => stopped))
      const all = Promise.all(working)
      all.catch(() => {})
      try {
        // A few of the blobs, and long before the last: a busy machine notices the progress late.
        await killedBackup(at, vault, 4 * OLD_BYTES)
        for (const expected of ['rest', 'new']) {
          const start = performance.now()
          const { run, blobs } = await backup(at, vault)
          taken.push({ run, start, end: performance.now() })
          // Which blobs the killed backup had copied is random; earlier ones stay for the next.
          const kept = expected === 'rest' ? 1 : OLD_OBJECTS
          assert(blobs.count - blobs.copied >= kept, `${expected}: ${blobs.copied} of ${blobs.count} copied`)
        }
      } finally {
        stopped = true
        await all
      }
    } finally {
      assert.equal(await server.stop(), 0)
    }
    assert(histories.changes > 20, `${histories.changes} changes`)
    const verified = await holdfast(['backup', 'verify', vault, '--json'])
    assert.deepEqual([verified.code, JSON.parse(verified.out).problems], [0, []])
    for (const { run, start, end } of taken) {
      const target = join(outer, run)
      const restored = await holdfast(['restore', vault, '--run', run, '--data', target, '--json'])
      assert.deepEqual([restored.code, restored.errors], [0, ''])
      assert.deepEqual(JSON.parse(restored.out).problems, [])
      await opened(target, async parts => {
        await assertSound(parts)
        const states = await statesOf(parts, histories.names)
        assert.notEqual(histories.momentOf(states, start, end), undefined, `${run} was never so`)
        for (const bucket of await parts.store.ledger.buckets()) {
          assert.equal((await parts.store.ledger.verify(bucket)).problem, undefined)
        }
        for (let i = 0; i < OLD_OBJECTS; i++) {
          const bytes = await bytesOf(parts.store, { bucket: PLAIN, key: `old-${i}` })
          assert.equal(sha(bytes), sha(payload(OLD_BYTES, i)))
        }
      })
    }
  }))

test('the check finds the point in time of a consistent backup, and none for an inconsistent one', async () => {
  const histories = new Histories()
  const start = performance.now()
  await histories.change('a', '1', async () => {})
  await histories.change('b', '1', async () => {})
  await histories.change('a', '2', async () => {})
  await histories.change('b', '2', async () => {})
  const end = performance.now()
  const at = (a: string, b: string) => histories.momentOf(new Map(Object.entries({ a, b })), start, end)
  for (const [a, b] of [
    ['1', GONE],
    ['1', '1'],
    ['2', '1'],
    ['2', '2'],
  ] as const)
    assert.notEqual(at(a, b), undefined)
  for (const [a, b] of [
    [GONE, '1'],
    ['1', '2'],
    ['2', GONE],
    ['3', '1'],
  ] as const)
    assert.equal(at(a, b), undefined)
})

/** Signs with the root key by default. */
class RootClient extends Client {
  readonly #as: Who

  constructor(dialect: 'svc' | 's3', clock: ManualClock, port: number, as: Who) {
    super(dialect, clock, port)
    this.#as = as
  }

  override send(what: Parameters<Client['send']>[0]): ReturnType<Client['send']> {
    return super.send({ as: this.#as, ...what })
  }
}
