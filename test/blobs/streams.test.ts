import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Blobs, DiskFull } from '../../src/blobs/blobs.ts'
import { type DiskFailure, MemoryDisk } from '../../src/lib/memory-disk.ts'
import { CountingDisk, idOf, open, payload, readAll, turn } from './fixture.ts'

const MIB = 2 ** 20

async function solosOf(blobs: Blobs): Promise<number> {
  let count = 0
  for await (const _ of blobs.solos()) count++
  return count
}

/** The same chunk repeated, so that the body itself costs no memory. */
async function* repeated(chunk: Buffer, times: number, each?: () => void): AsyncGenerator<Buffer> {
  for (let turn = 0; turn < times; turn++) {
    yield chunk
    each?.()
  }
}

test('a body that throws leaves no file, early or late', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk)
  const calls = disk.calls
  for (const chunks of [0, 3, 40]) {
    async function* broken(): AsyncGenerator<Buffer> {
      yield* repeated(payload(65536), chunks)
      throw new Error('the client went away')
    }
    await assert.rejects(blobs.write(idOf(1), broken()), /went away/)
  }
  assert(disk.calls > calls, 'the longest body reached the disk before it broke')
  assert.equal(await solosOf(blobs), 0)
  assert.deepEqual(await blobs.volumes(), [])
  assert.equal(disk.openFiles, 0)
  await blobs.close()
})

test('a solo blob is written once: a second body for the same id leaves the first intact', async () => {
  const blobs = await open(new MemoryDisk(), { packedBytesMax: 10 })
  const location = await blobs.write(idOf(1), [payload(50)])
  await assert.rejects(blobs.write(idOf(1), [payload(60)]), { code: 'EEXIST' })
  assert.deepEqual(await readAll(blobs, idOf(1), location), payload(50))
  await blobs.remove(idOf(1), location)
  assert.equal(await solosOf(blobs), 0)
  await blobs.remove(idOf(1), location)
  await blobs.close()
})

for (const kind of ['packed', 'solo'] as const) {
  test(`a reader of a ${kind} blob that stops early leaves nothing open`, async () => {
    const disk = new MemoryDisk()
    const blobs = await open(disk, { packedBytesMax: kind === 'packed' ? 8 * MIB : 10 })
    const location = await blobs.write(idOf(1), [payload(5 * MIB)])
    let running = 0
    disk.pause = async () => {
      running++
      for (let turns = 0; turns < 3; turns++) await turn()
      running--
    }
    const unread = blobs.read(idOf(1), location, 0, location.length)
    for await (const part of blobs.read(idOf(1), location, 0, location.length)) {
      assert.equal(part.length, 512 * 1024)
      assert.equal(running, 1, 'the next chunk is being read ahead')
      break
    }
    assert.equal(running, 0, 'that read is over before the file is given back')
    const thrown = new Error('the consumer failed')
    await assert.rejects(async () => {
      for await (const _ of blobs.read(idOf(1), location, 100, location.length)) throw thrown
    }, thrown)
    await blobs.close()
    await turn()
    assert.equal(disk.openFiles, 0)
    assert(unread, 'a read that was never started opened nothing')
  })

  test(`a reader of a ${kind} blob may finish after the blobs were closed`, async () => {
    const disk = new MemoryDisk()
    const blobs = await open(disk, { packedBytesMax: kind === 'packed' ? 8 * MIB : 10 })
    const location = await blobs.write(idOf(1), [payload(3 * MIB)])
    const parts: Buffer[] = []
    for await (const part of blobs.read(idOf(1), location, 0, location.length)) {
      if (parts.length === 0) await blobs.close()
      parts.push(part)
    }
    assert(Buffer.concat(parts).equals(payload(3 * MIB)))
    await turn()
    assert.equal(disk.openFiles, 0)
  })
}

test('few volumes stay open, however many are read, and unused ones are closed', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk)
  const places = []
  for (let number = 0; number < 80; number++) {
    places.push(await blobs.write(idOf(number), [payload(20, number)]))
    await blobs.closeVolume()
  }
  for (const number of [...places.keys(), ...places.keys()]) {
    assert.deepEqual(await readAll(blobs, idOf(number), places[number]!), payload(20, number))
  }
  assert.equal(disk.openFiles, 64)
  for (let turns = 0; turns < 2100; turns++) await readAll(blobs, idOf(7), places[7]!)
  assert.equal(disk.openFiles, 1)
  await blobs.close()
  await turn()
  assert.equal(disk.openFiles, 0)
})

test('below the reserve writes are refused before they begin, and succeed again once space is free', async () => {
  const disk = new CountingDisk()
  disk.freeBytes = 10 * MIB
  const blobs = await open(disk, { reserveBytes: 8 * MIB })
  const small = await blobs.write(idOf(1), [payload(1000)])
  disk.freeBytes = 8 * MIB - 1
  const outcomes = await Promise.allSettled(
    Array.from({ length: 600 }, (_, number) => blobs.write(idOf(number + 2), [payload(1000)])),
  )
  assert(outcomes.at(-1)!.status === 'rejected')
  const { written } = disk
  let taken = 0
  const body = repeated(payload(65536), 100, () => taken++)
  await assert.rejects(blobs.write(idOf(700), body), DiskFull)
  assert.equal(taken, 0, 'nothing was asked of the body')
  assert.equal(disk.written, written, 'nothing was written')
  assert.deepEqual(await readAll(blobs, idOf(1), small), payload(1000))
  disk.freeBytes = 10 * MIB
  await blobs.write(idOf(701), [payload(1000)])
  await blobs.close()
})

test('a long body fails when space runs out, and its file is removed', async () => {
  const disk = new CountingDisk()
  disk.freeBytes = 300 * MIB
  const blobs = await open(disk, { reserveBytes: 8 * MIB })
  let released = false
  async function* endless(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        yield* repeated(payload(65536), 16)
        disk.freeBytes -= MIB
      }
    } finally {
      released = true
    }
  }
  await assert.rejects(blobs.write(idOf(1), endless()), DiskFull)
  assert(disk.freeBytes > 0, 'the reserve was not used up')
  assert(released, 'the body was told that no more is wanted')
  assert.equal(await solosOf(blobs), 0)
  await blobs.close()
  assert.equal(disk.openFiles, 0)
})

test('a full disk is reported as such by every write', async () => {
  class FullDisk extends MemoryDisk {
    override count(what: string): DiskFailure | undefined {
      const error = Object.assign(new Error('no space'), { code: 'ENOSPC' })
      if (what === 'write') return { error, short: false }
      return super.count(what)
    }
  }
  for (const length of [100, 3 * MIB]) {
    const blobs = await open(new FullDisk())
    await assert.rejects(blobs.write(idOf(2), [payload(length)]), DiskFull)
    assert.deepEqual(await blobs.volumes(), [])
    assert.equal(await solosOf(blobs), 0)
    await blobs.close()
  }
})

test('writing and reading buffer only a few chunks, whatever the length', async () => {
  const disk = new CountingDisk()
  const blobs = await open(disk)
  let taken = 0
  let heldMost = 0
  const body = repeated(payload(65536), 512, () => {
    taken += 65536
    heldMost = Math.max(heldMost, taken - disk.written)
  })
  const location = await blobs.write(idOf(1), body)
  assert(heldMost <= 1.6 * MIB, `${heldMost} bytes were held while writing`)
  let given = 0
  heldMost = 0
  for await (const part of blobs.read(idOf(1), location, 0, location.length)) {
    heldMost = Math.max(heldMost, disk.readBytes - given)
    given += part.length
    if (given % (4 * MIB) === 0) await turn()
  }
  assert.equal(given, location.length)
  assert(heldMost <= 2.1 * MIB, `${heldMost} bytes were held while reading`)
  await blobs.close()
})

test('256 MiB through a real file leave the memory of the process flat', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-blobs-'))
  try {
    const script = fileURLToPath(new URL(`stream-memory${extname(import.meta.url)}`, import.meta.url))
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, folder], { encoding: 'utf8' })
    assert.equal(status, 0, stderr)
    assert.match(stdout, /^\d+\n$/)
    assert(Number(stdout) < 128, `the process grew by ${stdout} MiB`)
  } finally {
    await rm(folder, { recursive: true })
  }
})
