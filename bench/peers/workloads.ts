/** The rows of the comparison. */
import { randomBytes } from 'node:crypto'
import type { Asked } from '../http/signed.ts'

const KIB = 1024
const MIB = 2 ** 20

interface Shared {
  readonly name: string
  readonly connections: number
  /** Bytes of one object. */
  readonly bytes: number
}

/** Reads are presigned and sent by wrk, which takes less processor time than any server. */
export interface Reading extends Shared {
  readonly kind: 'read'
  readonly keys: readonly string[]
  /** A page of a listing instead of an object. */
  readonly query?: string
}

/** Other requests are made in advance and sent by a process of the benchmark's own. wrk cannot send HEAD. */
export interface Prewritten extends Shared {
  readonly kind: 'prewritten'
  readonly asked: readonly Asked[]
  /** Requests that are used up: each is sent once, after these have been sent. */
  readonly before?: readonly Asked[]
}

export type PeerWorkload = Reading | Prewritten

const keysOf = (label: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${label}-${n}`)

const reading = (name: string, bytes: number, connections: number, count: number): Reading => ({
  ...{ kind: 'read', name, bytes, connections },
  keys: keysOf(String(bytes), count),
})

const HEADED = keysOf(String(4 * KIB), 512)

const heading = (name: string, asked: readonly Asked[]): Prewritten => {
  return { kind: 'prewritten', name, bytes: 0, connections: 64, asked }
}

const headOf = (key: string, isPresigned: boolean): Asked => ({ method: 'HEAD', path: `/bench/${key}`, isPresigned })

/** Seconds in which a client may have signed. */
const SECONDS = Array.from({ length: 40 }, (_, second) => second)

/** As of clients that sign each request when they send it: more than a server would remember. */
function signedAnew(): Prewritten {
  const at = (secondsAgo: number): Asked[] => HEADED.map(key => ({ ...headOf(key, false), secondsAgo }))
  return heading('head-anew', SECONDS.flatMap(at))
}

function writing(name: string, bytes: number, connections: number, count: number): Prewritten {
  const body = randomBytes(bytes)
  const asked = keysOf(name, count).map(
    (key): Asked => ({
      method: 'PUT',
      path: `/bench/${key}`,
      body,
      payload: 'chunks',
    }),
  )
  return { kind: 'prewritten', name, bytes, connections, asked }
}

function deleting(count: number): Prewritten {
  const keys = keysOf('deleted', count)
  const put = (key: string): Asked => ({ method: 'PUT', path: `/bench/${key}`, body: Buffer.from(key) })
  const remove = (key: string): Asked => ({
    ...{ method: 'POST', path: '/bench', query: 'delete=' },
    body: Buffer.from(`<Delete><Object><Key>${key}</Key></Object></Delete>`),
  })
  return {
    kind: 'prewritten',
    name: 'delete',
    bytes: 0,
    connections: 64,
    asked: keys.map(remove),
    before: keys.map(put),
  }
}

export const PAGE_KEYS = keysOf('page', 2_000)

export const peerWorkloads = (isQuick: boolean): readonly PeerWorkload[] => [
  reading('get-4k', 4 * KIB, 64, 512),
  heading(
    'head',
    HEADED.map(key => headOf(key, false)),
  ),
  signedAnew(),
  heading(
    'head-presigned',
    HEADED.map(key => headOf(key, true)),
  ),
  reading('get-64k', 64 * KIB, 64, 256),
  reading('get-1m', MIB, 16, 64),
  reading('get-64m', 64 * MIB, 4, 2),
  { ...reading('list-1000', 0, 16, 1), query: 'list-type=2&max-keys=1000&prefix=page-' },
  writing('put-4k', 4 * KIB, 64, 512),
  writing('put-1m', MIB, 16, 32),
  writing('put-64m', 64 * MIB, 4, 2),
  deleting(isQuick ? 200 : 2_000),
]
