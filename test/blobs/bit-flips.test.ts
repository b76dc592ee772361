/** Bit rot in real files, which the page cache serves, read into buffers that are used again. */
import assert from 'node:assert/strict'
import { mkdtemp, open as openFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BlobLocation, Blobs } from '../../src/blobs/blobs.ts'
import { returnChunk } from '../../src/lib/buffer-pool.ts'
import { realDisk } from '../../src/lib/disk.ts'
import { shortOrLong } from '../long.ts'
import { chance, idOf, isDamaged, open, payload } from './fixture.ts'

const FLIPS = shortOrLong(100, 1_000)
const LENGTHS = [20_000, 65_536, 130_000, 700_000, 2 ** 20, 1_500_000, 2_345_678]

interface Reading {
  readonly blobs: Blobs
  readonly number: number
  readonly location: BlobLocation
  readonly range: readonly [number, number]
}

/** Throws at the first wrong byte. True if the range was read to its end, false if it is reported as damaged. */
async function isSound(reading: Reading): Promise<boolean> {
  const isStreamed = await isSoundStream(reading)
  // A copy in memory may be right where the file is damaged, but not the reverse.
  assert((await isSoundWhole(reading)) || !isStreamed)
  return isStreamed
}

async function isSoundWhole({ blobs, number, location, range: [start, end] }: Reading): Promise<boolean> {
  try {
    const whole = await blobs.readAtOnce(idOf(number), location, start, end)
    if (whole === undefined) return true
    assert(whole.equals(payload(location.length, number).subarray(start, end)), `wrong bytes in blob ${number}`)
    returnChunk(whole)
    return true
  } catch (error) {
    if (!isDamaged(error)) throw error
    return false
  }
}

async function isSoundStream({ blobs, number, location, range: [start, end] }: Reading): Promise<boolean> {
  const expected = payload(location.length, number)
  let at = start
  try {
    for await (const chunk of blobs.read(idOf(number), location, start, end)) {
      assert(chunk.equals(expected.subarray(at, at + chunk.length)), `wrong bytes behind ${at} of blob ${number}`)
      at += chunk.length
      returnChunk(chunk)
    }
  } catch (error) {
    if (!isDamaged(error)) throw error
    return false
  }
  assert.equal(at, end)
  return true
}

/** Flips one bit while `use` runs. */
async function withFlip(path: string, fraction: number, bit: number, use: () => Promise<void>): Promise<void> {
  const file = await openFile(path, 'r+')
  try {
    const at = Math.floor(fraction * (await file.stat()).size)
    const byte = Buffer.alloc(1)
    await file.read(byte, 0, 1, at)
    await file.write(Buffer.from([byte[0]! ^ (1 << bit)]), 0, 1, at)
    await use()
    await file.write(byte, 0, 1, at)
  } finally {
    await file.close()
  }
}

for (const cacheBytesMax of [0, 2 * 2 ** 20]) {
  const cache = cacheBytesMax === 0 ? 'no cache' : 'a cache too small for all of them'
  test(`A73: a flipped bit in a file never yields a wrong byte, in whole blobs and in ranges, with ${cache}`, () =>
    readFlipped(cacheBytesMax))
}

async function readFlipped(cacheBytesMax: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-flips-'))
  const blobs = await open(realDisk, { folder, cacheBytesMax })
  try {
    const locations: BlobLocation[] = []
    for (const [number, length] of LENGTHS.entries()) {
      locations.push(await blobs.write(idOf(number), [payload(length, number)]))
    }
    const files: string[] = []
    for (const name of await readdir(folder, { recursive: true })) {
      const path = join(folder, name)
      if ((await stat(path)).isFile()) files.push(path)
    }
    const random = chance(7)
    let damaged = 0
    for (let flip = 0; flip < FLIPS; flip++) {
      const path = files[Math.floor(random.fraction() * files.length)]!
      await withFlip(path, random.fraction(), flip % 8, async () => {
        for (const [number, location] of locations.entries()) {
          const start = flip % 2 === 0 ? 0 : Math.floor(random.fraction() * location.length)
          const end =
            flip % 2 === 0 ? location.length : start + Math.floor(random.fraction() * (location.length - start))
          if (!(await isSound({ blobs, number, location, range: [start, end] }))) damaged++
        }
      })
    }
    assert(damaged > FLIPS / 4, `${damaged} reads met damage`)
  } finally {
    await blobs.close()
    await rm(folder, { recursive: true })
  }
}
