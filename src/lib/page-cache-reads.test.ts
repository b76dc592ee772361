import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from './clock.ts'
import { PageCacheReads } from './page-cache-reads.ts'

const KIB = 1024

class Scene {
  readonly clock = new ManualClock()
  diskReads = 7
  readonly reads = new PageCacheReads(this.clock, () => this.diskReads)

  /** A read that takes so long, and gets so much from a disk. */
  take(ms: number, diskReads = 0): void {
    this.reads.timed(() => {
      this.clock.move(ms)
      this.diskReads += diskReads
    })
  }
}

test('short reads are done on the spot, long ones are not', () => {
  const { reads } = new Scene()
  assert.equal(reads.isLikely(64 * KIB), true)
  assert.equal(reads.isLikely(640 * KIB), true)
  assert.equal(reads.isLikely(640 * KIB + 1), false)
})

test('after a read that waited for a disk, threads read for ten times as long', () => {
  const scene = new Scene()
  scene.take(3, 1)
  assert.equal(scene.reads.isLikely(1), false)
  scene.clock.move(29)
  assert.equal(scene.reads.isLikely(1), false)
  scene.clock.move(1)
  assert.equal(scene.reads.isLikely(1), true)
})

test('what took long because somebody else had the core says nothing about files', () => {
  const scene = new Scene()
  scene.take(4)
  assert.equal(scene.reads.isLikely(1), true)
  // Disk reads of others, told late, are held against one slow read and no further.
  scene.diskReads += 5
  scene.take(4)
  assert.equal(scene.reads.isLikely(1), false)
  scene.clock.move(40)
  scene.take(4)
  assert.equal(scene.reads.isLikely(1), true)
})

test('a file that hangs is left to threads, whether or not the kernel counts its reads', () => {
  const scene = new Scene()
  scene.take(1_000)
  assert.equal(scene.reads.isLikely(1), false)
  scene.clock.move(10_000)
  assert.equal(scene.reads.isLikely(1), true)
})

test('a read from the cache changes nothing, whatever was read elsewhere', () => {
  const scene = new Scene()
  scene.take(0.1, 3)
  assert.equal(scene.reads.isLikely(1), true)
})

test('a read that fails is remembered as well, and fails', () => {
  const scene = new Scene()
  assert.throws(
    () =>
      scene.reads.timed(() => {
        scene.clock.move(50)
        throw new Error('EIO')
      }),
    /EIO/,
  )
  assert.equal(scene.reads.isLikely(1), false)
})
