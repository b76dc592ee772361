/** Helpers that create, fill and complete uploads. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { XmlNode } from '../../src/lib/xml.ts'
import { checksumAlgorithm, digestOf } from '../../src/rules/checksum.ts'
import type { Client, Received, Sending } from './server.ts'

type Headers = NonNullable<Sending['headers']>

export const MIB5 = 5 * 2 ** 20

/** The text of the element at this path; empty when there is none. */
export function textAt(root: XmlNode, ...path: readonly string[]): string {
  let node: XmlNode | undefined = root
  for (const name of path) node = node?.children.find(child => child.name === name)
  return node?.text ?? ''
}

export const childrenAt = (root: XmlNode, name: string): XmlNode[] => root.children.filter(child => child.name === name)

/** A detail of an error response. */
export const detail = (answer: Received, name: string): string => textAt(answer.xml(), name)

export function expectFault(answer: Received, status: number, code: string): void {
  assert.equal(`${answer.status} ${answer.code()}`, `${status} ${code}`, answer.body.toString())
}

/** The general code that one dialect folds others into (D18). */
export function expectFolded(client: Client, answer: Received, code: string): void {
  expectFault(answer, 400, client.dialect === 'svc' ? 'InvalidRequest' : code)
  if (client.dialect === 'svc') assert.equal(detail(answer, 'Reason'), code)
}

export interface Place {
  readonly bucket: string
  /** With its leading slash. */
  readonly path: string
  readonly id: string
  /** The algorithm of the checksum that every part requires. */
  readonly summedBy?: string
}

const headerIn = (headers: Headers, name: string): string | undefined => headers.find(([sent]) => sent === name)?.[1]

export const beginning = (client: Client, bucket: string, path: string, headers: Headers = [], as?: Sending['as']) =>
  client.send({ method: 'POST', bucket, path: `${path}?uploads`, headers, ...(as === undefined ? {} : { as }) })

export async function begin(client: Client, bucket: string, path = '/k', headers: Headers = []): Promise<Place> {
  const begun = await beginning(client, bucket, path, headers)
  assert.equal(begun.status, 200, begun.body.toString())
  const isWhole = headerIn(headers, ':checksum-type') === 'FULL_OBJECT'
  const summedBy = isWhole ? undefined : headerIn(headers, ':checksum-algorithm')
  return { bucket, path, id: textAt(begun.xml(), 'UploadId'), ...(summedBy === undefined ? {} : { summedBy }) }
}

/** R80. The checksum of a part, required where the upload's is composed of those of its parts. */
function ownChecksum({ summedBy }: Place, body: Buffer | string, headers: Headers): Headers {
  if (summedBy === undefined || summedBy === 'CRC64NVME') return []
  if (headers.some(([name]) => /^:(checksum|trailer)/.test(name))) return []
  const digest = digestOf(checksumAlgorithm(summedBy), Buffer.from(body))
  return [[`:checksum-${summedBy.toLowerCase()}`, digest.toString('base64')]]
}

export const putPart = (
  client: Client,
  place: Place,
  number: number | string,
  body: Buffer | string,
  headers: Headers = [],
): Promise<Received> =>
  client.send({
    method: 'PUT',
    bucket: place.bucket,
    path: `${place.path}?partNumber=${number}&uploadId=${place.id}`,
    body,
    headers: [...headers, ...ownChecksum(place, body, headers)],
  })

export interface Listed {
  readonly number: number
  readonly etag: string
  readonly more?: string
}

/** Stores a part and lists it. */
export async function part(
  client: Client,
  place: Place,
  number: number,
  body: Buffer | string,
  headers: Headers = [],
): Promise<Listed> {
  const put = await putPart(client, place, number, body, headers)
  assert.equal(put.status, 200, put.body.toString())
  return { number, etag: put.headers.get('etag') ?? '' }
}

export const listOf = (parts: readonly Listed[]): string =>
  `<CompleteMultipartUpload>${parts
    .map(({ number, etag, more = '' }) => `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag>${more}</Part>`)
    .join('')}</CompleteMultipartUpload>`

export const finish = (
  client: Client,
  { bucket, path, id }: Place,
  parts: readonly Listed[] | string,
  headers: Headers = [],
  more: Pick<Sending, 'heard'> = {},
): Promise<Received> =>
  client.send({
    ...more,
    method: 'POST',
    bucket,
    path: `${path}?uploadId=${id}`,
    body: typeof parts === 'string' ? parts : listOf(parts),
    headers,
  })

/** The three headers of a customer key. */
export function customerKey(key: Buffer, start = ':'): Headers {
  const name = `${start}server-side-encryption-customer`
  return [
    [`${name}-algorithm`, 'AES256'],
    [`${name}-key`, key.toString('base64')],
    [`${name}-key-MD5`, createHash('md5').update(key).digest('base64')],
  ]
}

export const KEY = Buffer.from([...Array(32).keys()])
export const OTHER_KEY = Buffer.alloc(32, 7)

/** The dialect's name for encryption under a named key. */
export const namedKeys = (client: Client): string => (client.dialect === 'svc' ? 'verenc' : 'aws:kms')
export const keyNameHeader = (client: Client): string =>
  `:server-side-encryption-${client.dialect === 'svc' ? 'svc' : 'aws'}-kms-key-id`
