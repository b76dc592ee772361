/**
 * Download buffers are reused. With fast and slow clients, some that disconnect midway, some that pipeline, over plain
 * connections and TLS, no client ever gets a byte of an object it did not request.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { connect as connectSecurely } from 'node:tls'
import { shortOrLong } from '../long.ts'
import { TEST_CERTIFICATE } from './certificate.ts'
import { type Client, MAIN, type Served, withFolderServer, withServer } from './server.ts'

const BUCKET = 'mixed'
const OBJECTS = 6
/** More than one chunk of a file of its own. */
const BYTES = shortOrLong(1.5, 3) * 2 ** 20 + 1234
const CLIENTS = shortOrLong(24, 48)

/** Every four bytes encode their object and their position in it. */
function contentOf(object: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32LE(object * 2 ** 24 + at / 4, at)
  return bytes
}

const large = Array.from({ length: OBJECTS }, (_, object) => contentOf(object, BYTES))

/** Stored inline. */
const SMALL_OBJECTS = 12
const smallBytes = (object: number): number => 4096 - 250 * object
const small = Array.from({ length: SMALL_OBJECTS }, (_, n) => contentOf(OBJECTS + n, smallBytes(n)))

/** Stored in volumes, and read before the response starts. */
const MEDIUM_OBJECTS = 12
const mediumBytes = (object: number): number => 128 * 1024 - 10_500 * object
const medium = Array.from({ length: MEDIUM_OBJECTS }, (_, n) => contentOf(OBJECTS + SMALL_OBJECTS + n, mediumBytes(n)))

const contents = [...large, ...small, ...medium]

interface Wanted {
  readonly object: number
  readonly start: number
  readonly end: number
}

interface Manner {
  readonly wanted: readonly Wanted[]
  /** Disconnects after this many bytes. */
  readonly leavesAt: number
  /** Stops reading for a turn after this many bytes. */
  readonly looksAwayAfter: number
}

/** The behaviour of the n-th client: the same in every run. */
function mannerOf(n: number): Manner {
  const object = n % OBJECTS
  const whole = { object, start: 0, end: BYTES }
  const part = { object: (object + 1) % OBJECTS, start: 100_000 + n, end: BYTES - 5_000 * n }
  return {
    wanted: n % 3 === 0 ? [whole, part, whole] : [n % 2 === 0 ? whole : part],
    leavesAt: n % 4 === 1 ? 50_000 + 40_000 * n : Number.POSITIVE_INFINITY,
    looksAwayAfter: n % 5 === 2 ? 30_000 : Number.POSITIVE_INFINITY,
  }
}

/** Requests many small objects, whole and in part, in sequence or a few at a time. */
function mannerOfSmall(n: number): Manner {
  const wanted = Array.from({ length: 60 }, (_, m): Wanted => {
    const object = (n * 7 + m * 5) % SMALL_OBJECTS
    const start = m % 3 === 0 ? 0 : m * 10
    return { object: OBJECTS + object, start, end: smallBytes(object) - (m % 4 === 1 ? n : 0) }
  })
  return {
    wanted,
    leavesAt: n % 6 === 5 ? 30_000 : Number.POSITIVE_INFINITY,
    looksAwayAfter: n % 5 === 2 ? 3_000 : 2e9,
  }
}

/** The same with objects whose buffers are reused. */
function mannerOfMedium(n: number): Manner {
  const wanted = Array.from({ length: 40 }, (_, m): Wanted => {
    const object = (n * 5 + m * 7) % MEDIUM_OBJECTS
    const start = m % 3 === 0 ? 0 : m * 10
    return { object: OBJECTS + SMALL_OBJECTS + object, start, end: mediumBytes(object) - (m % 4 === 1 ? n : 0) }
  })
  return {
    wanted,
    leavesAt: n % 6 === 5 ? 300_000 : Number.POSITIVE_INFINITY,
    looksAwayAfter: n % 5 === 2 ? 30_000 : 2e9,
  }
}

const headFor = (client: Client, { object, start, end }: Wanted): string =>
  client.head({ method: 'GET', bucket: BUCKET, path: `/${object}`, headers: [['Range', `bytes=${start}-${end - 1}`]] })

/** Compares received bytes with the expected ones, and counts body bytes. */
class Reading {
  readonly #wanted: readonly Wanted[]
  #head = Buffer.alloc(0)
  #answer = -1
  #at = 0
  bytes = 0

  constructor(wanted: readonly Wanted[]) {
    this.#wanted = wanted
  }

  get isOver(): boolean {
    return this.#answer === this.#wanted.length - 1 && this.#at === this.#wanted[this.#answer]!.end
  }

  take(piece: Buffer): void {
    let rest = piece
    while (rest.length > 0) {
      const wanted = this.#wanted[this.#answer]
      if (wanted === undefined || this.#at === wanted.end) {
        this.#head = Buffer.concat([this.#head, rest])
        const end = this.#head.indexOf('\r\n\r\n')
        if (end < 0) return
        assert.match(this.#head.toString('latin1', 0, end), /^HTTP\/1\.1 206 /)
        rest = this.#head.subarray(end + 4)
        this.#head = Buffer.alloc(0)
        this.#at = this.#wanted[++this.#answer]!.start
        continue
      }
      const bytes = rest.subarray(0, wanted.end - this.#at)
      const expected = contents[wanted.object]!.subarray(this.#at, this.#at + bytes.length)
      assert.ok(bytes.equals(expected), `foreign bytes in object ${wanted.object} behind ${this.#at}`)
      this.#at += bytes.length
      this.bytes += bytes.length
      rest = rest.subarray(bytes.length)
    }
  }
}

async function download(client: Client, manner: Manner, secure: boolean): Promise<void> {
  const { wanted, leavesAt, looksAwayAfter } = manner
  const to = { port: client.port, host: '127.0.0.1' }
  const socket: Socket = secure ? connectSecurely({ ...to, rejectUnauthorized: false }) : connect(to)
  await once(socket, secure ? 'secureConnect' : 'connect')
  const reading = new Reading(wanted)
  await new Promise<void>((resolve, reject) => {
    let seen = 0
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`the connection ended after ${reading.bytes} bytes`)))
    socket.on('data', piece => {
      try {
        reading.take(piece)
      } catch (error) {
        reject(error)
      }
      if (reading.isOver || reading.bytes >= leavesAt) return resolve()
      seen += piece.length
      if (seen < looksAwayAfter) return
      seen = 0
      socket.pause()
      setImmediate(() => socket.resume())
    })
    // All at once: later responses queue behind the first.
    socket.write(wanted.map(one => headFor(client, one)).join(''))
  }).finally(() => socket.destroy())
}

/** Written directly to the store: this test is about reads. */
async function mixed({ svc, parts: { store } }: Served, secure: boolean): Promise<void> {
  const owner = MAIN.canonicalId
  await store.buckets.create({ name: BUCKET, owner, lockEnabled: false })
  for (const [object, body] of contents.entries()) {
    const sealed = object % 3 === 2 ? { encryption: { by: 'service' } as const } : {}
    await store.objects.put({ bucket: BUCKET, key: String(object), owner, body: [body], ...sealed })
  }
  // Only the on-disk engine returns small objects in buffers of its own.
  const manners = Array.from({ length: CLIENTS }, (_, n) => [
    mannerOf(n),
    mannerOfMedium(n),
    ...(secure ? [] : [mannerOfSmall(n)]),
  ])
  await Promise.all(manners.flat().map(manner => download(svc, manner, secure)))
}

test('clients of every kind get the bytes they requested and no others', () =>
  withFolderServer(served => mixed(served, false)))

test('over TLS, too', () => withServer(served => mixed(served, true), { certificate: TEST_CERTIFICATE }))
