import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { fsck } from '../../src/maintenance/fsck.ts'
import { openFolder } from '../../src/server/compose.ts'
import { shortOrLong } from '../long.ts'
import { below, chance, makeBucket, put, withFolder } from './fixture.ts'

/** In this folder, with the same extension as this file. */
const CHILD = fileURLToPath(import.meta.url.replace(/lock-kill\.test(\.\w+)$/, 'lock-child$1'))
const KEYS = 8
const ROUNDS = shortOrLong(2, 4)

interface Told {
  /** The last acknowledged change; undefined when there was none. */
  done: boolean | undefined
  /** A change that was started after it. */
  begun: boolean | undefined
  changes: number
}

/** Lets a process change holds and kills it after this many acknowledgements; resolves to its output. */
async function changeUntilKilled(folder: string, answers: number): Promise<Map<string, Told>> {
  const child = spawn(process.execPath, [CHILD, folder, String(KEYS)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const told = new Map<string, Told>()
  let left = answers
  for await (const line of createInterface({ input: child.stdout })) {
    const [what, key, hold] = line.split(' ') as [string, string, string]
    const of = told.get(key) ?? { done: undefined, begun: undefined, changes: 0 }
    told.set(key, of)
    if (what === 'begin') of.begun = hold === 'true'
    else Object.assign(of, { done: hold === 'true', begun: undefined, changes: of.changes + 1 })
    if (what === 'done' && --left === 0) child.kill('SIGKILL')
  }
  await exited
  return told
}

test('P21 P31: after kill -9 acknowledged hold changes are kept, others are atomic', async () => {
  const random = chance(21)
  for (let round = 0; round < ROUNDS; round++) {
    await withFolder(async folder => {
      const first = await openFolder({ folder, durability: 'os' })
      await makeBucket(first.store, 'bucket', 'locked')
      for (let i = 0; i < KEYS; i++) await put(first.store, 'bucket', `k${i}`, 'bytes')
      await first.close()
      const told = await changeUntilKilled(folder, 20 + below(random, 200))
      const { store, close } = await openFolder({ folder, durability: 'os' })
      try {
        assert.deepEqual((await fsck(store.context)).problems, [])
        const entries = await store.ledger.entries('bucket', 0, 10_000)
        for (const [key, { done, begun, changes }] of told) {
          const { lock } = await store.objects.head({ bucket: 'bucket', key })
          assert(lock.hold === done || (begun !== undefined && lock.hold === begun), `${key}: ${lock.hold}`)
          const noted = entries.filter(entry => entry.what === 'hold' && entry.key === key)
          const last = noted.at(-1)
          const shown = lock.hold === undefined ? undefined : lock.hold ? 'ON' : 'OFF'
          assert.equal(last && 'after' in last && 'hold' in last.after! ? last.after.hold : undefined, shown, key)
          // As many entries as changes: one more if the pending one was committed.
          assert.equal(noted.length, changes + (lock.hold === done ? 0 : 1), key)
        }
      } finally {
        await close()
      }
    })
  }
})
