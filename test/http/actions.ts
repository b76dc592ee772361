/** Requests that many tests make as a preparation. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { XmlNode } from '../../src/lib/xml.ts'
import { readAccountsFile } from '../../src/rules/accounts-file.ts'
import { type ChecksumAlgorithm, digestOf, wholeChecksum } from '../../src/rules/checksum.ts'
import { derivedChecksum } from '../../src/rules/part-checksums.ts'
import { ensureAccounts } from '../../src/server/accounts.ts'
import type { ServerParts } from '../../src/server/compose.ts'
import { type Client, MAIN, makeBucket, type Received, type Sending, type Who } from './server.ts'

export type Headers = NonNullable<Sending['headers']>

export const md5Header = (body: Buffer | string): [string, string] => [
  'Content-MD5',
  createHash('md5').update(body).digest('base64'),
]

/** A document with its Content-MD5. */
export const document = (body: string, headers: Headers = []) => ({ body, headers: [md5Header(body), ...headers] })

export async function put(
  client: Client,
  bucket: string,
  path: string,
  body: Buffer | string = 'bytes',
  headers: Headers = [],
): Promise<string | undefined> {
  const answer = await client.send({ method: 'PUT', bucket, path, body, headers })
  assert.equal(answer.status, 200, answer.body.toString())
  return answer.own('version-id')
}

export const get = (client: Client, bucket: string, path: string, headers: Headers = []): Promise<Received> =>
  client.send({ method: 'GET', bucket, path, headers })

export const lockBucket = (client: Client, bucket = 'lock-bucket'): Promise<string> =>
  makeBucket(client, bucket, [[':bucket-object-lock-enabled', 'true']])

export async function versionedBucket(
  client: Client,
  parts: ServerParts,
  bucket = 'versioned-bucket',
): Promise<string> {
  await makeBucket(client, bucket)
  await parts.store.buckets.setVersioning(bucket, 'on')
  return bucket
}

/** Status and code of a response, as one text to compare. */
export const outcome = (answer: Received): string => `${answer.status} ${answer.code()}`.trim()

export const texts = (node: XmlNode, name: string): string[] =>
  node.children.flatMap(child => (child.name === name ? [child.text] : texts(child, name)))

export const text = (node: XmlNode, name: string): string | undefined => texts(node, name)[0]

export const elements = (node: XmlNode, name: string): XmlNode[] => node.children.filter(child => child.name === name)

/** An object of parts of minimum size, except for the last, created through the store. */
export async function objectInParts(
  parts: ServerParts,
  bucket: string,
  key: string,
  bodies: readonly Buffer[],
  algorithm: ChecksumAlgorithm = 'CRC32',
): Promise<void> {
  const { uploads, completion } = parts.store
  const owner = MAIN.canonicalId
  const checksum = { algorithm, type: 'COMPOSITE' } as const
  const upload = await uploads.create({ bucket, key, initiator: owner, owner, checksum })
  const name = { bucket, key, uploadId: upload.id.toString('hex') }
  const listed: { number: number; etag: string }[] = []
  for (const [index, body] of bodies.entries()) {
    const inspection = {
      update: () => undefined,
      abandon: () => {},
      end: async () => wholeChecksum(algorithm, digestOf(algorithm, body)),
    }
    const source = (async function* () {
      yield body
    })()
    const { etag } = await uploads.putPart({ ...name, number: index + 1, body: source, inspection })
    listed.push({ number: index + 1, etag })
  }
  await completion.complete({
    ...name,
    parts: listed,
    inspect: (_, { parts: found }) => derivedChecksum(checksum, found),
  })
}

/** A user of an account, with a policy of these statements. */
export async function makeUser(
  { store }: ServerParts,
  of: Who,
  name: string,
  statements: readonly object[],
): Promise<Who> {
  const [accessKey, secretKey] = [`AK${name.toUpperCase()}`, `secret-of-${name}`]
  const policies = statements.length === 0 ? [] : [{ Version: '2012-10-17', Statement: statements }]
  const users = [{ name, policies, accessKeys: [{ accessKey, secretKey }] }]
  const accounts = [{ accountId: of.accountId, users }]
  await ensureAccounts(store, readAccountsFile(JSON.stringify({ accounts })))
  return { ...of, accessKey, secretKey }
}
