import assert from 'node:assert/strict'
import { createCipheriv, createHash, hkdfSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { seededRandom } from '../lib/random.ts'
import {
  FRAME_BYTES,
  openSealed,
  SEALED_FRAME_BYTES,
  SealBroken,
  type SealKeys,
  seal,
  sealedLength,
} from './sealing.ts'

const random = seededRandom(7)
const keys: SealKeys = { blobKey: random.bytes(32), storageKey: random.bytes(32), blobId: random.bytes(16) }
const noise = random.bytes(3 * FRAME_BYTES + 100)
const BORDERS = [0, 1, 15, 16, 17, 4096, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1]
const SIZES = [...BORDERS, 2 * FRAME_BYTES - 1, 2 * FRAME_BYTES, 2 * FRAME_BYTES + 1, 3 * FRAME_BYTES + 100]

async function collect(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Splits at the given lengths in turn; the rest is one more chunk. */
function* cut(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  let at = 0
  for (const length of lengths) {
    yield bytes.subarray(at, at + length)
    at = Math.min(bytes.length, at + length)
  }
  if (at < bytes.length) yield bytes.subarray(at)
}

const stored = (sealed: Buffer, lengths: readonly number[] = []) =>
  async function* (start: number, end: number): AsyncGenerator<Buffer> {
    yield* cut(sealed.subarray(start, end), lengths)
  }

const sealAll = (plain: Buffer, by = keys): Promise<Buffer> => collect(seal([plain], by))

/** The bytes a reader got before the error, and the error. */
async function openBroken(sealed: Buffer, plainLength: number, by = keys): Promise<{ got: Buffer; error: unknown }> {
  const pieces: Buffer[] = []
  try {
    for await (const piece of openSealed(stored(sealed), by, plainLength, 0, plainLength)) pieces.push(piece)
  } catch (error) {
    return { got: Buffer.concat(pieces), error }
  }
  return { got: Buffer.concat(pieces), error: undefined }
}

async function assertBroken(sealed: Buffer, plain: Buffer, frame: number, by = keys): Promise<void> {
  const { got, error } = await openBroken(sealed, plain.length, by)
  assert.ok(error instanceof SealBroken, `expected a broken seal, got ${error}`)
  assert.equal(error.frame, frame)
  // Every frame before the bad one was returned, and no byte of the bad one.
  assert.ok(got.equals(plain.subarray(0, frame * FRAME_BYTES)))
}

const chunking = fc.array(fc.integer({ min: 0, max: 70_000 }), { maxLength: 8 })

test('sealed bytes are opened again for every size, chunking and range', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...SIZES),
      chunking,
      chunking,
      fc.nat(),
      fc.nat(),
      async (size, cutsIn, cutsOut, a, b) => {
        const plain = noise.subarray(0, size)
        const sealed = await collect(seal(cut(plain, cutsIn), keys))
        assert.equal(sealed.length, sealedLength(size))
        const start = Math.min(a % (size + 1), b % (size + 1))
        const end = Math.max(a % (size + 1), b % (size + 1))
        const opened = await collect(openSealed(stored(sealed, cutsOut), keys, size, start, end))
        assert.ok(opened.equals(plain.subarray(start, end)))
      },
    ),
    { numRuns: 150 },
  )
})

test('every size opens whole, and ranges that begin and end at frame borders', async () => {
  for (const size of SIZES) {
    const plain = noise.subarray(0, size)
    const sealed = await sealAll(plain)
    for (const start of BORDERS.filter(n => n <= size)) {
      for (const end of [...BORDERS, size].filter(n => n >= start && n <= size)) {
        const opened = await collect(openSealed(stored(sealed), keys, size, start, end))
        assert.ok(opened.equals(plain.subarray(start, end)), `${size}: [${start}, ${end})`)
      }
    }
  }
})

test('chunks of one byte are sealed and opened like any other', async () => {
  const plain = noise.subarray(0, FRAME_BYTES + 3)
  const single = (bytes: Buffer) => Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))
  const sealed = await collect(seal(single(plain), keys))
  assert.ok(sealed.equals(await sealAll(plain)))
  const trickle = async function* (start: number, end: number) {
    yield* single(sealed.subarray(start, end))
  }
  assert.ok((await collect(openSealed(trickle, keys, plain.length, 0, plain.length))).equals(plain))
})

test('a range reads only the frames it needs, and an empty range of a blob reads nothing', async () => {
  const sealed = await sealAll(noise)
  const asked: [number, number][] = []
  const read = (start: number, end: number) => {
    asked.push([start, end])
    return stored(sealed)(start, end)
  }
  const within = await collect(openSealed(read, keys, noise.length, FRAME_BYTES + 5, 2 * FRAME_BYTES))
  assert.ok(within.equals(noise.subarray(FRAME_BYTES + 5, 2 * FRAME_BYTES)))
  await collect(openSealed(read, keys, noise.length, 10, 10))
  await collect(openSealed(read, keys, noise.length, noise.length - 1, noise.length))
  assert.deepEqual(asked, [
    [SEALED_FRAME_BYTES, 2 * SEALED_FRAME_BYTES],
    [3 * SEALED_FRAME_BYTES, sealed.length],
  ])
})

test('sealing takes no more of the body than the frame at hand needs', async () => {
  let given = 0
  const body = async function* () {
    for (; given < 50; given++) yield noise.subarray(0, FRAME_BYTES)
  }
  for await (const piece of seal(body(), keys)) {
    assert.equal(piece.length, FRAME_BYTES)
    break
  }
  assert.ok(given <= 2, `${given} chunks were taken for one frame`)
})

test('the layout is the documented one', async () => {
  const plain = noise.subarray(0, FRAME_BYTES + 50)
  const info = Buffer.concat([Buffer.from('holdfast outer frames\0'), keys.blobId])
  const outerKey = Buffer.from(hkdfSync('sha256', keys.storageKey, Buffer.alloc(0), info, 32))
  const expected: Buffer[] = []
  for (const [index, frame] of [plain.subarray(0, FRAME_BYTES), plain.subarray(FRAME_BYTES)].entries()) {
    let bytes = frame
    for (const key of [keys.blobKey, outerKey]) {
      const cipher = createCipheriv('aes-256-gcm', key, Buffer.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, index))
      cipher.setAAD(Buffer.concat([Buffer.of(1), keys.blobId, Buffer.of(0, 0, 0, 0, 0, 0, 0, index, index)]))
      bytes = Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
    }
    expected.push(bytes)
  }
  assert.ok((await sealAll(plain)).equals(Buffer.concat(expected)))
})

test('a blob sealed by an earlier program still has the same bytes', async () => {
  const fixed = { blobKey: Buffer.alloc(32, 1), storageKey: Buffer.alloc(32, 2), blobId: Buffer.alloc(16, 3) }
  const sealed = await sealAll(Buffer.alloc(FRAME_BYTES + 10, 4), fixed)
  assert.equal(
    createHash('sha256').update(sealed).digest('hex'),
    'acf5eae93aa00902634f6a360d1de6af9e48d1d0101aa40c2eef8a7eb6e82297',
  )
})

test('neither the plain bytes nor the inner ciphertext appear in what is stored', async () => {
  const plain = noise.subarray(0, FRAME_BYTES + 50)
  const inner: Buffer[] = []
  for (const [index, frame] of [plain.subarray(0, FRAME_BYTES), plain.subarray(FRAME_BYTES)].entries()) {
    const nonce = Buffer.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, index)
    const cipher = createCipheriv('aes-256-gcm', keys.blobKey, nonce)
    cipher.setAAD(Buffer.concat([Buffer.of(1), keys.blobId, Buffer.of(0, 0, 0, 0, 0, 0, 0, index, index)]))
    inner.push(cipher.update(frame), cipher.final(), cipher.getAuthTag())
  }
  const windows = (bytes: Buffer): Set<string> => {
    const found = new Set<string>()
    for (let at = 0; at + 16 <= bytes.length; at++) found.add(bytes.toString('latin1', at, at + 16))
    return found
  }
  const visible = windows(await sealAll(plain))
  for (const secret of [plain, Buffer.concat(inner)]) {
    for (let at = 0; at + 16 <= secret.length; at++) assert.ok(!visible.has(secret.toString('latin1', at, at + 16)))
  }
})

test('A73: every flipped byte of a small blob is an error', async () => {
  for (const size of [0, 1, 40]) {
    const plain = noise.subarray(0, size)
    const sealed = await sealAll(plain)
    for (let at = 0; at < sealed.length; at++) {
      const bad = Buffer.from(sealed)
      bad[at] = bad[at]! ^ (1 << (at % 8))
      await assertBroken(bad, plain, 0)
    }
  }
})

test('A73: a flipped byte anywhere in a long blob breaks its frame and no other', async () => {
  const sealed = await sealAll(noise)
  await fc.assert(
    fc.asyncProperty(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
      const bad = Buffer.from(sealed)
      bad[at] = bad[at]! ^ flip
      await assertBroken(bad, noise, Math.floor(at / SEALED_FRAME_BYTES))
    }),
    { numRuns: 60 },
  )
})

const frameOf = (sealed: Buffer, index: number): Buffer =>
  sealed.subarray(index * SEALED_FRAME_BYTES, (index + 1) * SEALED_FRAME_BYTES)

test('A73: swapped, repeated, dropped and spliced frames are errors', async () => {
  const sealed = await sealAll(noise)
  const [a, b, c, end] = [0, 1, 2, 3].map(index => frameOf(sealed, index)) as [Buffer, Buffer, Buffer, Buffer]
  await assertBroken(Buffer.concat([b, a, c, end]), noise, 0)
  await assertBroken(Buffer.concat([a, a, c, end]), noise, 1)
  await assertBroken(Buffer.concat([a, c, end]), noise, 1)
  const other = await sealAll(noise, { ...keys, blobId: Buffer.alloc(16, 9) })
  await assertBroken(Buffer.concat([a, frameOf(other, 1), c, end]), noise, 1)
})

test('A73: a blob cut short or grown is an error, also when its recorded length agrees', async () => {
  const sealed = await sealAll(noise)
  await assertBroken(sealed.subarray(0, 3 * SEALED_FRAME_BYTES), noise, 3)
  await assertBroken(sealed.subarray(0, sealed.length - 1), noise, 3)
  await assertBroken(sealed.subarray(0, 2 * SEALED_FRAME_BYTES - 7), noise, 1)
  // The third frame was sealed as one with a successor, so it cannot pass for the last.
  await assertBroken(sealed.subarray(0, 3 * SEALED_FRAME_BYTES), noise.subarray(0, 3 * FRAME_BYTES), 2)
  const whole = noise.subarray(0, FRAME_BYTES)
  const grown = Buffer.concat([await sealAll(whole), await sealAll(Buffer.from('more'))])
  await assertBroken(grown, Buffer.concat([whole, Buffer.from('more')]), 0)
  const cutFrame = await sealAll(whole)
  await assertBroken(cutFrame.subarray(0, 100 + 32), whole.subarray(0, 100), 0)
})

test('bytes beyond the requested range are an error', async () => {
  const plain = noise.subarray(0, 100)
  const sealed = await sealAll(plain)
  const generous = async function* () {
    yield Buffer.concat([sealed, Buffer.of(0)])
  }
  await assert.rejects(collect(openSealed(generous, keys, 100, 0, 100)), SealBroken)
})

test('an empty blob whose seal has gone is an error', async () => {
  await assertBroken(Buffer.alloc(0), Buffer.alloc(0), 0)
})

test('another blob key, storage key or blob id opens nothing', async () => {
  const plain = noise.subarray(0, 100)
  const sealed = await sealAll(plain)
  for (const wrong of [{ blobKey: random.bytes(32) }, { storageKey: random.bytes(32) }, { blobId: random.bytes(16) }]) {
    await assertBroken(sealed, plain, 0, { ...keys, ...wrong })
  }
})

test('a failure of the reader below passes through, and leaving early closes it', async () => {
  const sealed = await sealAll(noise)
  const failing = async function* () {
    yield frameOf(sealed, 0)
    throw new Error('disk gone')
  }
  await assert.rejects(collect(openSealed(failing, keys, noise.length, 0, noise.length)), /disk gone/)
  let closed = false
  const watched = async function* () {
    try {
      yield* cut(sealed, [SEALED_FRAME_BYTES, SEALED_FRAME_BYTES])
    } finally {
      closed = true
    }
  }
  for await (const piece of openSealed(watched, keys, noise.length, 0, noise.length)) {
    assert.equal(piece.length, FRAME_BYTES)
    break
  }
  assert.ok(closed)
})

test('a range outside the blob is refused', async () => {
  const sealed = await sealAll(noise.subarray(0, 10))
  for (const [start, end] of [
    [-1, 5],
    [6, 5],
    [0, 11],
    [Number.NaN, 5],
  ] as const) {
    await assert.rejects(collect(openSealed(stored(sealed), keys, 10, start, end)), RangeError)
  }
})
