/**
 * One valid request for every operation. Tests of behaviour common to all operations iterate over them; attacks are
 * mostly one of these with an error. An operation without a row here fails the tests that use them.
 */
import { createHash } from 'node:crypto'
import { OPERATIONS } from '../../src/operations/index.ts'
import type { Operation } from '../../src/operations/operation.ts'
import * as documents from './documents.ts'
import type { Pair } from './signing.ts'

/** The buckets, keys and ids that specimens work on. */
export interface Place {
  readonly bucket: string
  /** Has object lock. */
  readonly locked: string
  /** Exists and is empty. */
  readonly empty: string
  /** Does not exist. */
  readonly fresh: string
  readonly key: string
  /** Canonical id of the account that owns everything. */
  readonly owner: string
  /** A retain-until date. */
  readonly until: string
  /** An upload with this body as its first part. */
  readonly uploadId: string
}

export interface Asked {
  /** Absent for the service itself. */
  readonly bucket?: string
  /** With its query, percent-encoded. */
  readonly path: string
  /** `:name` is a header of the dialect. */
  readonly headers?: readonly Pair[]
  readonly body?: string
}

export type DialectName = 'svc' | 's3'

export interface Specimen {
  readonly ask: (place: Place, dialect: DialectName) => Asked
  readonly status: number | Readonly<Record<DialectName, number>>
  /** Consumed by its success. */
  readonly uses?: 'fresh' | 'empty' | 'upload'
}

export const PART = 'bytes of a part'
const PART_ETAG = createHash('md5').update(PART).digest('hex')

export const contentMd5 = (body: string | Buffer): Pair => [
  'Content-MD5',
  createHash('md5').update(body).digest('base64'),
]

const onBucket = (query: string, status: Specimen['status'] = 200): Specimen => ({
  ask: ({ bucket }) => ({ bucket, path: query === '' ? '/' : `/?${query}` }),
  status,
})

const onObject = (query: string, status: Specimen['status'] = 200, headers: readonly Pair[] = []): Specimen => ({
  ask: ({ bucket, key }) => ({ bucket, path: `/${key}${query === '' ? '' : `?${query}`}`, headers }),
  status,
})

const proven = (asked: Asked & { readonly body: string }): Asked => ({
  ...asked,
  headers: [contentMd5(asked.body), ...(asked.headers ?? [])],
})

type Text = string | ((place: Place) => string)

const textFor = (text: Text, place: Place): string => (typeof text === 'string' ? text : text(place))

const bucketDocument = (query: string, text: Text, status: Specimen['status'] = 200): Specimen => ({
  ask: place => proven({ bucket: place.bucket, path: `/?${query}`, body: textFor(text, place) }),
  status,
})

const objectDocument = (query: string, text: Text, locked = false, headers: readonly Pair[] = []): Specimen => ({
  ask: place => {
    const bucket = locked ? place.locked : place.bucket
    return proven({ bucket, path: `/${place.key}?${query}`, body: textFor(text, place), headers })
  },
  status: 200,
})

const onLocked = (query: string): Specimen => ({
  ask: ({ locked, key }) => ({ bucket: locked, path: `/${key}?${query}` }),
  status: 200,
})

const onUpload = (query: (place: Place) => string, status: number, more: Partial<Asked> = {}): Specimen => ({
  ask: place => ({ bucket: place.bucket, path: `/upload?${query(place)}`, ...more }),
  status,
})

const uploadQuery = ({ uploadId }: Place): string => `uploadId=${uploadId}`
const partQuery = (place: Place): string => `partNumber=1&${uploadQuery(place)}`

const ROWS: Readonly<Record<string, Specimen>> = {
  'GET service': { ask: () => ({ path: '/' }), status: 200 },
  'PUT bucket': {
    ask: ({ fresh }) => ({ bucket: fresh, path: '/', body: documents.LOCATION }),
    status: 200,
    uses: 'fresh',
  },
  'HEAD bucket': onBucket(''),
  'DELETE bucket': { ask: ({ empty }) => ({ bucket: empty, path: '/' }), status: 204, uses: 'empty' },
  'GET bucket ?location': onBucket('location'),
  'GET bucket ?acl': onBucket('acl'),
  'PUT bucket ?acl': bucketDocument('acl', ({ owner }) => documents.acl(owner)),
  'GET bucket ?policy': onBucket('policy'),
  'PUT bucket ?policy': bucketDocument('policy', ({ bucket }) => documents.policy(bucket), 204),
  'DELETE bucket ?policy': onBucket('policy', 204),
  'GET bucket ?policyStatus': onBucket('policyStatus'),
  'GET bucket ?versioning': onBucket('versioning'),
  'PUT bucket ?versioning': bucketDocument('versioning', documents.VERSIONING),
  'GET bucket ?requestPayment': onBucket('requestPayment'),
  'PUT bucket ?requestPayment': bucketDocument('requestPayment', documents.REQUEST_PAYMENT),
  'GET bucket ?publicAccessBlock': onBucket('publicAccessBlock'),
  'PUT bucket ?publicAccessBlock': bucketDocument('publicAccessBlock', documents.PUBLIC_ACCESS_BLOCK),
  'DELETE bucket ?publicAccessBlock': onBucket('publicAccessBlock', 204),
  'GET bucket ?ownershipControls': onBucket('ownershipControls'),
  'PUT bucket ?ownershipControls': bucketDocument('ownershipControls', documents.OWNERSHIP),
  'DELETE bucket ?ownershipControls': onBucket('ownershipControls', 204),
  'GET bucket ?object-lock': { ask: ({ locked }) => ({ bucket: locked, path: '/?object-lock' }), status: 200 },
  'PUT bucket ?object-lock': {
    ask: ({ locked }) => proven({ bucket: locked, path: '/?object-lock', body: documents.OBJECT_LOCK }),
    status: 200,
  },
  'GET bucket ?cors': onBucket('cors'),
  'PUT bucket ?cors': bucketDocument('cors', documents.CORS),
  'DELETE bucket ?cors': onBucket('cors', 204),
  'GET bucket ?lifecycle': onBucket('lifecycle'),
  'PUT bucket ?lifecycle': bucketDocument('lifecycle', documents.LIFECYCLE),
  'DELETE bucket ?lifecycle': onBucket('lifecycle', 204),
  'GET bucket ?website': onBucket('website'),
  'PUT bucket ?website': bucketDocument('website', documents.WEBSITE),
  'DELETE bucket ?website': onBucket('website', 204),
  'GET bucket ?encryption': onBucket('encryption'),
  'PUT bucket ?encryption': bucketDocument('encryption', documents.ENCRYPTION),
  'DELETE bucket ?encryption': onBucket('encryption', 204),
  'GET bucket ?tagging': onBucket('tagging'),
  'PUT bucket ?tagging': bucketDocument('tagging', documents.TAGGING, { svc: 200, s3: 204 }),
  'DELETE bucket ?tagging': onBucket('tagging', 204),
  'GET bucket ?logging': onBucket('logging'),
  'PUT bucket ?logging': bucketDocument('logging', documents.LOGGING),
  'GET bucket': onBucket('prefix=k&delimiter=%2F&max-keys=10&marker=a&encoding-type=url'),
  'GET bucket ?list-type=2': onBucket('list-type=2&prefix=k&delimiter=%2F&max-keys=10&start-after=a&fetch-owner=true'),
  'GET bucket ?versions': onBucket('versions&prefix=k&max-keys=10&key-marker=a&encoding-type=url'),
  'GET bucket ?uploads': onBucket('uploads&prefix=u&delimiter=%2F&max-uploads=10&key-marker=a'),
  'POST bucket ?delete': bucketDocument('delete', documents.batch('gone')),
  'PUT bucket ?legal-hold': bucketDocument('legal-hold', documents.LEGAL_HOLD, { svc: 400, s3: 405 }),
  'PUT object': {
    ask: ({ bucket }) => ({
      bucket,
      path: '/written',
      body: 'some bytes',
      headers: [
        ['Content-Type', 'text/plain'],
        [':meta-colour', 'blue'],
        [':tagging', 'a=b'],
        [':storage-class', 'STANDARD'],
      ],
    }),
    status: 200,
  },
  'PUT object :copy-source': {
    ask: ({ bucket, key }) => ({ bucket, path: '/copied', headers: [[':copy-source', `/${bucket}/${key}`]] }),
    status: 200,
  },
  'GET object': onObject('', 206, [['Range', 'bytes=0-3']]),
  'HEAD object': onObject(''),
  'DELETE object': { ask: ({ bucket }) => ({ bucket, path: '/gone' }), status: 204 },
  'GET object ?acl': onObject('acl'),
  'PUT object ?acl': objectDocument('acl', ({ owner }) => documents.acl(owner)),
  'GET object ?attributes': onObject('attributes', 200, [[':object-attributes', 'ETag,ObjectSize,ObjectParts']]),
  'GET object ?tagging': onObject('tagging'),
  'PUT object ?tagging': objectDocument('tagging', documents.TAGGING),
  'DELETE object ?tagging': onObject('tagging', 204),
  'GET object ?legal-hold': onLocked('legal-hold'),
  'PUT object ?legal-hold': {
    ask: ({ locked, key }, dialect) =>
      proven({
        bucket: locked,
        path: `/${key}?legal-hold`,
        body: documents.LEGAL_HOLD,
        headers: dialect === 'svc' ? [[':legal-hold', 'ON']] : [],
      }),
    status: 200,
  },
  'GET object ?retention': onLocked('retention'),
  'PUT object ?retention': objectDocument('retention', ({ until }) => documents.retention(until), true),
  'POST object': { ask: ({ bucket }) => ({ bucket, path: '/k', body: documents.partList(PART_ETAG) }), status: 400 },
  'POST object ?uploads': onObject('uploads', 200, [[':checksum-algorithm', 'CRC32']]),
  'PUT object ?partNumber ?uploadId': onUpload(partQuery, 200, { body: PART }),
  'PUT object ?partNumber ?uploadId :copy-source': {
    ask: place => ({
      bucket: place.bucket,
      path: `/upload?${partQuery(place).replace('=1', '=2')}`,
      headers: [
        [':copy-source', `/${place.bucket}/${place.key}`],
        [':copy-source-range', 'bytes=0-3'],
      ],
    }),
    status: 200,
  },
  'POST object ?uploadId': {
    ask: place =>
      proven({ bucket: place.bucket, path: `/upload?${uploadQuery(place)}`, body: documents.partList(PART_ETAG) }),
    status: 200,
    uses: 'upload',
  },
  'DELETE object ?uploadId': { ...onUpload(uploadQuery, 204), uses: 'upload' },
  'GET object ?uploadId': onUpload(place => `max-parts=10&part-number-marker=0&${uploadQuery(place)}`, 200),
}

/** Identifies a row: method, level and whatever else distinguishes the operation. */
export const routeOf = ({ match }: Operation): string =>
  [match.method, match.on, ...[...(match.requires ?? [])].sort((a, b) => (order(a) < order(b) ? -1 : 1))].join(' ')

/** Query names first, then headers. */
const order = (need: string): string => (need.startsWith('?') ? `0${need}` : `1${need}`)

export interface Case {
  readonly operation: Operation
  readonly route: string
  readonly specimen: Specimen
}

/** Every operation requested by headers and a body; tests build forms themselves. */
export function cases(): Case[] {
  return OPERATIONS.filter(({ takesForm }) => !takesForm).map(operation => {
    const route = routeOf(operation)
    const specimen = ROWS[route]
    if (specimen === undefined) throw new Error(`no specimen for ${operation.name}: ${route}`)
    return { operation, route, specimen }
  })
}

export const statusIn = ({ status }: Specimen, dialect: DialectName): number =>
  typeof status === 'number' ? status : status[dialect]
