/** The requests of the clients. */
import { randomBytes } from 'node:crypto'
import type { Asked } from '../http/signed.ts'
import { randomName } from '../scene.ts'
import type { RawWork } from './raw-child.ts'

const KIB = 1024
const MIB = 1024 * KIB
const KEYS = 512
const LARGE_AT_ONCE = 4
const LISTED = 2_000
const PAGE = 1_000

export interface Workload extends Pick<RawWork, 'kind' | 'bytes'> {
  readonly name: string
  readonly connections: number
  /** Requests that each server answers before it is measured: compiling its code takes longer than a turn. */
  readonly warmUp: number
  /** Requests of a turn; undefined: as many as there is time for. */
  readonly answers?: number
  /** Objects that are there before; puts by themselves where undefined. */
  readonly before?: readonly Asked[]
  readonly asked: readonly Asked[]
}

const puts = (prefix: string, count: number, body: Buffer): Asked[] =>
  Array.from({ length: count }, () => ({ method: 'PUT', path: `/bench/${prefix}${randomName()}`, body }))

const gets = (written: readonly Asked[]): Asked[] => written.map(({ path }) => ({ method: 'GET', path }))

const small = puts('', KEYS, randomBytes(4 * KIB))
const packed = puts('', KEYS, randomBytes(64 * KIB))
const large = puts('', 1, randomBytes(64 * MIB)).map(put => ({ ...put, payload: 'unsigned' as const }))
const listed = puts('list-', LISTED, randomBytes(16))
const page: Asked = { method: 'GET', path: '/bench', query: `list-type=2&max-keys=${PAGE}&prefix=list-` }

const SMALL = { bytes: 4 * KIB, connections: 64, warmUp: 3_000 }
const PACKED = { bytes: 64 * KIB, connections: 32, warmUp: 800 }
const LARGE = { bytes: 64 * MIB, connections: LARGE_AT_ONCE, answers: LARGE_AT_ONCE, warmUp: 2 }

export const WORKLOADS: readonly Workload[] = [
  { name: 'get-4k', kind: 'get', ...SMALL, before: small, asked: gets(small) },
  { name: 'put-4k', kind: 'put', ...SMALL, asked: small },
  { name: 'get-64k', kind: 'get', ...PACKED, before: packed, asked: gets(packed) },
  { name: 'put-64k', kind: 'put', ...PACKED, asked: packed },
  { name: 'list-1000', kind: 'list', bytes: 0, connections: 16, warmUp: 150, before: listed, asked: [page] },
  { name: 'get-64m', kind: 'get', ...LARGE, before: large, asked: gets(large) },
  { name: 'put-64m', kind: 'put', ...LARGE, asked: large },
]
