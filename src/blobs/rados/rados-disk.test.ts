/** Striping over a pool in memory; the suite on a real Ceph is in test/rados. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../lib/clock.ts'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { type BlobLocation, type Blobs, DamagedBlob, DiskFull } from '../blobs.ts'
import { openBlobs } from '../file-blobs.ts'
import { blobSuite } from '../suite.ts'
import { claimNamespace } from './claim.ts'
import type { ObjectNamespace } from './namespace.ts'
import { type ObjectPool, RadosDisk } from './rados-disk.ts'

const fail = (code: string): Error => Object.assign(new Error(code), { code })
const MIB = 2 ** 20

/** Objects by namespace. Once `changesLeft` changes were made, every further one fails, as in a crash. */
class MemoryPool implements ObjectPool {
  readonly namespaces = new Map<string, Map<string, Buffer>>()
  changesLeft = Number.POSITIVE_INFINITY
  failure = fail('EIO')
  hasMonitors = true
  readonly clock = new ManualClock(0)

  get objects(): number {
    return [...this.namespaces.values()].reduce((sum, { size }) => sum + size, 0)
  }

  async capacity() {
    if (!this.hasMonitors) throw new EngineUnavailable('no monitor answers')
    return { totalBytes: 2 ** 40, freeBytes: 2 ** 28 }
  }

  namespace(name: string): ObjectNamespace {
    const objects = this.namespaces.get(name) ?? new Map<string, Buffer>()
    this.namespaces.set(name, objects)
    const change = (): void => {
      if (this.changesLeft-- <= 0) throw this.failure
    }
    return {
      async create(object, bytes) {
        change()
        if (objects.has(object)) throw fail('EEXIST')
        objects.set(object, Buffer.from(bytes))
      },
      async write(object, bytes, offset) {
        change()
        const old = objects.get(object) ?? Buffer.alloc(0)
        const whole = Buffer.alloc(Math.max(old.length, offset + bytes.length))
        whole.set(old)
        whole.set(bytes, offset)
        objects.set(object, whole)
      },
      async read(object, into, offset) {
        return objects.get(object)?.copy(into, 0, offset) ?? 0
      },
      size: async object => objects.get(object)?.length,
      async remove(object) {
        change()
        objects.delete(object)
      },
      async *names() {
        yield* [...objects.keys()]
      },
    }
  }
}

const WRITER = Buffer.alloc(6, 7)
const idOf = (number: number): Buffer => Buffer.alloc(16, number)
const bytesOf = (length: number): Buffer => Buffer.alloc(length, 'striped ')
const open = (pool: MemoryPool, writer: Buffer = WRITER): Promise<Blobs> =>
  openBlobs({ disk: new RadosDisk(pool, 'test', pool.clock), folder: '/', writer })

async function readAll(blobs: Blobs, location: BlobLocation): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of blobs.read(idOf(1), location, 0, location.length)) parts.push(part)
  return Buffer.concat(parts)
}

async function countSolos(blobs: Blobs): Promise<number> {
  let count = 0
  for await (const _ of blobs.solos()) count++
  return count
}

blobSuite({
  name: 'rados over memory',
  async open(writer) {
    const pool = new MemoryPool()
    const reopen = (other: Buffer) => open(pool, other)
    return { blobs: await reopen(writer), reopen, destroy: async () => {} }
  },
})

test('a namespace belongs to the store that claimed it first', async () => {
  const claims = new MemoryPool().namespace('claim')
  await claimNamespace(claims, Buffer.alloc(16, 1))
  await claimNamespace(claims, Buffer.alloc(16, 1))
  await assert.rejects(claimNamespace(claims, Buffer.alloc(16, 2)), /belongs to another store/)
})

test('a blob of 4 MiB is one object, and one of 64 MiB is sixteen', async () => {
  const pool = new MemoryPool()
  const blobs = await open(pool)
  await blobs.write(idOf(1), [bytesOf(4 * MIB)])
  assert.equal(pool.objects, 1)
  await blobs.write(idOf(2), [bytesOf(64 * MIB)])
  assert.equal(pool.objects, 17)
  await blobs.close()
})

test('a removal that is cut off anywhere leaves no whole blob, and the next one leaves nothing', async () => {
  const stripes = 6
  for (let changes = 0; changes < stripes; changes++) {
    const pool = new MemoryPool()
    const blobs = await open(pool)
    const location = await blobs.write(idOf(1), [bytesOf(21 * MIB)])
    assert.equal(pool.objects, stripes)
    pool.changesLeft = changes
    await assert.rejects(blobs.remove(idOf(1), location), { code: 'EIO' })
    pool.changesLeft = Number.POSITIVE_INFINITY
    if (changes > 0) await assert.rejects(readAll(blobs, location), error => error instanceof DamagedBlob)
    assert.equal(await countSolos(blobs), 1, 'a sweep still finds it')
    await blobs.remove(idOf(1), location)
    assert.equal(pool.objects, 0, `after ${changes} changes`)
    await blobs.close()
  }
})

test('whichever stripes a crash left of an unfinished blob, removing it leaves nothing', async () => {
  for (const lost of [1, 2, 3, 4, 5]) {
    const pool = new MemoryPool()
    const blobs = await open(pool)
    const location = await blobs.write(idOf(1), [bytesOf(21 * MIB)])
    const tails = pool.namespaces.get('test:tails')!
    const name = idOf(1).toString('hex')
    // Stripes behind the lost one were written out of order, two at most.
    for (let index = 1; index <= 5; index++) if (index === lost || index > lost + 2) tails.delete(`${name}.${index}`)
    await assert.rejects(readAll(blobs, location), error => error instanceof DamagedBlob)
    await blobs.remove(idOf(1), location)
    assert.equal(pool.objects, 0, `stripe ${lost} was lost`)
    await blobs.close()
  }
})

for (const [kind, length] of [
  ['packed', 5000],
  ['solo', 21 * MIB],
] as const) {
  test(`a ${kind} write that fails at any point is not acknowledged`, async () => {
    let isWhole = false
    for (let changes = 0; !isWhole; changes++) {
      const pool = new MemoryPool()
      const blobs = await open(pool)
      pool.changesLeft = changes
      const [written] = await Promise.allSettled([blobs.write(idOf(1), [bytesOf(length)])])
      isWhole = pool.changesLeft >= 0
      assert.equal(written!.status, isWhole ? 'fulfilled' : 'rejected', `after ${changes} changes`)
      pool.changesLeft = Number.POSITIVE_INFINITY
      await blobs.close()
    }
  })
}

test('a pool that is full or over its quota is reported as a full disk', async () => {
  for (const code of ['ENOSPC', 'EDQUOT']) {
    for (const length of [100, 21 * MIB]) {
      const pool = new MemoryPool()
      const blobs = await open(pool)
      pool.failure = fail(code)
      pool.changesLeft = 1
      await assert.rejects(blobs.write(idOf(1), [bytesOf(length)]), DiskFull)
      await blobs.close()
    }
  }
})

test('writes go on while the monitors do not answer, once the free space has been known', async () => {
  const pool = new MemoryPool()
  const blobs = await open(pool)
  await blobs.write(idOf(1), [bytesOf(100)])
  pool.hasMonitors = false
  await pool.clock.sleep(10_000)
  for (let n = 2; n < 30; n++) await blobs.write(idOf(n), [bytesOf(MIB)])
  await blobs.close()
  const blind = await open(pool)
  await assert.rejects(blind.write(idOf(40), [bytesOf(100)]), EngineUnavailable)
  await blind.close()
})

test('hundreds of uploads at once send smaller writes, and all come back', async () => {
  const pool = new MemoryPool()
  const blobs = await open(pool)
  const body = bytesOf(MIB + 70_000)
  const ids = Array.from({ length: 200 }, (_, n) => Buffer.alloc(16, `id ${n} of many`))
  const locations = await Promise.all(ids.map(id => blobs.write(id, [body])))
  for (const [n, location] of locations.entries()) {
    const parts: Buffer[] = []
    for await (const part of blobs.read(ids[n]!, location, 0, location.length)) parts.push(part)
    assert(Buffer.concat(parts).equals(body), `blob ${n}`)
  }
  await blobs.close()
})
