/** Usage counters over the life of a folder: killed servers, older versions of the program, upgrades, repairs. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { UsageCounter } from '../../src/maintenance/count-usage.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import type { MetaEngine } from '../../src/meta/meta.ts'
import { openFolder, openMeta, type ServerParts } from '../../src/server/compose.ts'
import { ownerFormat } from '../../src/store/commit/folder-ownership.ts'
import { keyRanges, recordKey } from '../../src/store/commit/record-keys.ts'
import { recount } from '../../src/store/usage/recount.ts'
import { usageOf } from '../../src/store/usage/usage.ts'
import { chance, makeBucket, put, remove, withFolder } from './fixture.ts'
import { changeSomething, makeBuckets } from './usage-operations.ts'
import { assertExact, usageRecordCount } from './usage-reference.ts'

/** In this folder, with the same extension as this file. */
const CHILD = fileURLToPath(import.meta.url.replace(/usage-lives\.test(\.\w+)$/, 'usage-child$1'))

async function inFolder<T>(folder: string, use: (parts: ServerParts) => Promise<T>): Promise<T> {
  const parts = await openFolder({ folder, durability: 'os' })
  try {
    return await use(parts)
  } finally {
    await parts.close()
  }
}

/** Opens only the records, as a tool that does not know the counters would. */
async function inRecords(folder: string, use: (meta: MetaEngine) => Promise<void>): Promise<void> {
  const meta = await openMeta({ folder, durability: 'os' })
  try {
    await use(meta)
  } finally {
    await meta.close()
  }
}

const count = ({ store, snapshot }: ServerParts): Promise<void> =>
  runUntilIdle(new UsageCounter(store.context, snapshot))

test('after kill -9 counters equal a recount, and those of dead processes are folded', () =>
  withFolder(async folder => {
    await inFolder(folder, ({ store }) => makeBuckets(store))
    for (let life = 1; life <= 2; life++) {
      const child = spawn(process.execPath, [CHILD, folder, String(life)], { stdio: ['ignore', 'pipe', 'inherit'] })
      const exited = once(child, 'exit')
      let left = 60
      for await (const _ of createInterface({ input: child.stdout })) if (--left === 0) child.kill('SIGKILL')
      await exited
      await inFolder(folder, async parts => {
        const found = await assertExact(parts, `after kill ${life}`)
        assert(found.get('versioned')!.versions > 0)
        assert.deepEqual((await fsck(parts.store.context)).problems, [])
        await count(parts)
        await assertExact(parts, `after folding ${life}`)
        assert.equal(await usageRecordCount(parts), 3)
      })
    }
  }))

/** A folder as a version from before the counters leaves it. */
async function forgetCounters(folder: string): Promise<void> {
  await inRecords(folder, async meta => {
    const counters = await meta.scan(keyRanges.kind('U'), 1000)
    const keys = [recordKey.usageMark(), ...counters.map(({ key }) => key)]
    await meta.commit({ checks: [], writes: keys.map(key => ({ key, value: undefined })) })
  })
}

test('a folder from before there were counters is counted in the background, while it is written to', () =>
  withFolder(async folder => {
    await inFolder(folder, async ({ store }) => {
      await makeBuckets(store)
      for (let step = 0; step < 60; step++) await changeSomething(store, chance(step))
    })
    await forgetCounters(folder)
    await inFolder(folder, async parts => {
      const { store } = parts
      const bucket = await store.buckets.get('versioned')
      assert.equal(await usageOf(store.context.meta, bucket), undefined)
      assert.deepEqual((await fsck(store.context)).usage.uncounted, ['plain', 'suspended', 'versioned'])
      assert.deepEqual((await fsck(store.context)).problems, [])
      const random = chance(7)
      const [, ...hands] = await Promise.all([
        count(parts),
        ...Array.from({ length: 4 }, async () => {
          for (let step = 0; step < 15; step++) await changeSomething(store, random)
        }),
      ])
      assert.equal(hands.length, 4)
      await assertExact(parts, 'counted')
      assert.notEqual(await usageOf(store.context.meta, bucket), undefined)
      assert.deepEqual((await fsck(store.context)).usage, { wrong: [], uncounted: [] })
    })
  }))

test('usage changed by an older program version is counted again', () =>
  withFolder(async folder => {
    await inFolder(folder, async ({ store }) => {
      await makeBucket(store, 'box')
      await put(store, 'box', 'a', 'four')
      await put(store, 'box', 'b', 'four')
    })
    // It owns the folder for a while, deletes an object, and leaves the counters alone.
    await inRecords(folder, async meta => {
      const { incarnation, socket } = ownerFormat.decode((await meta.get(recordKey.owner()))!.value)
      await meta.commit({
        checks: [],
        writes: [
          { key: recordKey.owner(), value: ownerFormat.encode({ incarnation: incarnation + 1, socket }) },
          { key: recordKey.current('box', 'a'), value: undefined },
        ],
      })
    })
    await inFolder(folder, async parts => {
      const { store } = parts
      const bucket = await store.buckets.get('box')
      assert.equal(await usageOf(store.context.meta, bucket), undefined)
      await count(parts)
      assert.equal((await usageOf(store.context.meta, bucket))!.objects, 1)
      await assertExact(parts, 'counted again')
    })
    await inFolder(folder, async ({ store }) => {
      assert.equal((await usageOf(store.context.meta, await store.buckets.get('box')))!.objects, 1)
    })
  }))

test('fsck names a bucket whose usage is wrong, and a recount corrects it', () =>
  withFolder(async folder => {
    await inFolder(folder, async parts => {
      const { store } = parts
      await makeBucket(store, 'box')
      await put(store, 'box', 'a', 'four')
      await put(store, 'box', 'b', 'sixsix')
      await store.context.meta.commit({
        checks: [],
        writes: [{ key: recordKey.current('box', 'a'), value: undefined }],
      })
      const { problems, usage } = await fsck(store.context)
      assert.deepEqual(usage.wrong, ['box'])
      assert.match(problems.join(), /usage of bucket box: objects 2 recorded, 1 counted;.*bytes 10 recorded, 6 counted/)
      assert.equal(await recount(store.context, parts.snapshot, 'box'), true)
      assert.deepEqual((await fsck(store.context)).usage, { wrong: [], uncounted: [] })
      await remove(store, 'box', 'b')
      await assertExact(parts, 'after the repair')
      assert.equal(await recount(store.context, parts.snapshot, 'none'), false)
    })
  }))
