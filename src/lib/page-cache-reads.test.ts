import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from './clock.ts'
import { PageCacheReads } from './page-cache-reads.ts'

const KIB = 1024

class Scene {
  readonly clock = new ManualClock()
  diskReads = 7
  readonly reads = new PageCacheReads(this.clock, () => this.diskReads)

  /** A read of this duration with this many disk accesses. */
  take(ms: number, diskReads = 0): void {
    this.reads.measure(() => {
      this.clock.move(ms)
      this.diskReads += diskReads
    })
  }
}

test('short reads are synchronous, long ones are not', () => {
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

test('a delay caused by the scheduler does not count as a slow file', () => {
  const scene = new Scene()
  scene.take(4)
  assert.equal(scene.reads.isLikely(1), true)
  // Disk reads of other threads, counted late, affect one slow read only.
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

test('a failing read is recorded as well, and fails', () => {
  const scene = new Scene()
  assert.throws(
    () =>
      scene.reads.measure(() => {
        scene.clock.move(50)
        throw new Error('EIO')
      }),
    /EIO/,
  )
  assert.equal(scene.reads.isLikely(1), false)
})
