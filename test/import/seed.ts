/** A bucket with everything that an import must carry over, and its expected state afterwards. */
import { createHash } from 'node:crypto'
import { childText } from '../../src/lib/xml.ts'
import { parseXml } from '../../src/lib/xml-reader.ts'
import type { S3Client } from '../../src/s3/client.ts'

type Headers = readonly (readonly [string, string])[]

/** One version as expected at the target; markers have no bytes. */
export interface Expected {
  readonly md5: string | undefined
  readonly size: number
  /** Responses must carry these, by neutral name. */
  readonly headers: Headers
  readonly tags: Readonly<Record<string, string>>
  readonly isPublic: boolean
}

/** Versions of each key, oldest first. */
export type Seeded = ReadonlyMap<string, readonly Expected[]>

/** Features that a server supports; they differ. */
export interface Traits {
  /** The unusual keys that it accepts. */
  readonly strangeKeys: readonly string[]
  /** A class other than the default. */
  readonly storageClass: string | undefined
  readonly hasLists: boolean
  /** It keeps holds given at creation of an upload. */
  readonly holdsUploads: boolean
  /** It returns single parts of an object, so that the ETag can be reproduced. */
  readonly tellsParts: boolean
  /** It lists versions and markers in one order; otherwise only times, in seconds, show which came first. */
  readonly tellsOrder: boolean
}

export interface Seeding {
  readonly objects: number
  readonly traits: Traits
}

const YEAR_MS = 365 * 24 * 3600 * 1000
const UNTIL = new Date(Math.ceil(Date.now() / 1000) * 1000 + YEAR_MS).toISOString()
const IN_FLIGHT = 16
const MARKER: Expected = { md5: undefined, size: 0, headers: [], tags: {}, isPublic: false }
const PART_BYTES = 5 * 2 ** 20

const md5Of = (body: Buffer): string => createHash('md5').update(body).digest('hex')

/** Names that file systems can also hold. */
export const STRANGE_NAMES = ['ü +&=?#%.txt', "it's (a) *test*!", '日本/語', '\u{1f600}', '%41%2F', 'quote"<&>']

export const EVERYTHING: Traits = {
  strangeKeys: [...STRANGE_NAMES, 'trailing/', 'a//b'],
  storageClass: 'STANDARD_IA',
  hasLists: true,
  holdsUploads: true,
  tellsParts: true,
  tellsOrder: true,
}

export const keyOf = (index: number, { strangeKeys }: Traits = EVERYTHING): string => {
  const strange = index % 25 === 24 ? strangeKeys[Math.floor(index / 25) % strangeKeys.length] : undefined
  return `k${String(index).padStart(6, '0')}-${strange ?? 'object'}`
}

/** The attributes of the second, third … version of a key depend on the key's number alone. */
function kindOf(
  index: number,
  { storageClass, hasLists }: Traits,
): { headers: Headers; tags: Record<string, string>; isPublic: boolean } {
  const none = { headers: [] as Headers, tags: {}, isPublic: false }
  switch (index % 10) {
    case 3:
      return { ...none, headers: [[':object-lock-legal-hold', 'ON']] }
    case 4:
    case 5:
      return {
        ...none,
        headers: [
          [':object-lock-mode', index % 10 === 4 ? 'GOVERNANCE' : 'COMPLIANCE'],
          [':object-lock-retain-until-date', UNTIL],
        ],
      }
    case 6:
      return { ...none, tags: { stage: 'test', 'with space': 'a+b/c=d' } }
    case 7:
      return { ...none, isPublic: hasLists }
    case 8:
      return {
        ...none,
        headers: [
          ['content-type', 'text/plain; charset=utf-8'],
          ['cache-control', 'max-age=3600'],
          ['content-disposition', 'attachment; filename="a b.txt"'],
          ['content-language', 'de, en'],
          ['content-encoding', 'identity-of-ours'],
          [':meta-colour', 'blue'],
          [':meta-empty-ish', '-'],
        ],
      }
    case 9:
      return storageClass === undefined ? none : { ...none, headers: [[':storage-class', storageClass]] }
    default:
      return none
  }
}

interface Wanted {
  readonly key: string
  readonly index: number
  readonly round: number
  readonly traits: Traits
}

async function put(client: S3Client, { key, index, round, traits }: Wanted): Promise<Expected> {
  const body = Buffer.from(index % 50 === 49 ? '' : `${key} in its version ${round}, ${'x'.repeat((index * 37) % 900)}`)
  const { headers, tags, isPublic } = kindOf(index, traits)
  const asked: [string, string][] = [...headers.map(([name, value]): [string, string] => [name, value])]
  asked.push(['content-md5', createHash('md5').update(body).digest('base64')])
  const pairs = Object.entries(tags).map(pair => pair.map(encodeURIComponent).join('='))
  if (pairs.length > 0) asked.push([':tagging', pairs.join('&')])
  if (isPublic) asked.push([':acl', 'public-read'])
  if (index % 10 === 9) {
    asked.push([':checksum-sha256', createHash('sha256').update(body).digest('base64')])
  }
  await client.requestOnce({ method: 'PUT', key, headers: asked, body })
  return { md5: md5Of(body), size: body.length, headers, tags, isPublic }
}

async function inFlight(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
}

/** Servers with times in seconds must be able to order versions. */
async function nextSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1000)
  while (Math.floor(Date.now() / 1000) <= second + 1) await new Promise(resolve => setTimeout(resolve, 50))
}

/** In rounds over all keys, so that versions of a key are apart in time as in practice. */
export async function seed(client: S3Client, { objects, traits }: Seeding): Promise<Seeded> {
  await client.requestOnce({ method: 'PUT', headers: [[':bucket-object-lock-enabled', 'true']] })
  const seeded = new Map<string, Expected[]>()
  const made = (index: number, round: number): Promise<Expected> =>
    put(client, { key: keyOf(index, traits), index, round, traits })
  const removed = async (index: number): Promise<Expected> => {
    await client.requestOnce({ method: 'DELETE', key: keyOf(index, traits) })
    return MARKER
  }
  const rounds: readonly ((index: number) => Promise<Expected> | undefined)[] = [
    index => made(index, 1),
    index => (index % 10 < 2 ? (index % 10 === 0 ? made(index, 2) : removed(index)) : undefined),
    index => (index % 20 === 1 || index % 10 === 0 ? made(index, 3) : undefined),
    index => (index % 30 === 2 ? removed(index) : undefined),
  ]
  for (let index = 0; index < objects; index++) seeded.set(keyOf(index, traits), [])
  for (const round of rounds) {
    await inFlight(objects, async index => {
      const expected = await round(index)
      if (expected !== undefined) seeded.get(keyOf(index, traits))!.push(expected)
    })
    if (!traits.tellsOrder) await nextSecond()
  }
  for (const [key, expected] of [await large(client), await inParts(client, traits)]) seeded.set(key, [expected])
  return seeded
}

async function large(client: S3Client): Promise<[string, Expected]> {
  const body = Buffer.alloc(6 * 2 ** 20 + 17, 'large and whole ')
  await client.requestOnce({ method: 'PUT', key: 'z-large', headers: [contentMd5(body)], body })
  return ['z-large', { ...MARKER, md5: md5Of(body), size: body.length }]
}

const contentMd5 = (body: Buffer): readonly [string, string] => [
  'content-md5',
  createHash('md5').update(body).digest('base64'),
]

/** Two parts and a hold, where the server keeps it; the ETag must be reproduced where possible. */
async function inParts(client: S3Client, traits: Traits): Promise<[string, Expected]> {
  const key = 'z-parts'
  const hold: Headers = traits.holdsUploads ? [[':object-lock-legal-hold', 'ON']] : []
  const held: Headers = [...hold, [':meta-made', 'in parts']]
  // Some cannot return the ACL of an upload that was created without one.
  const asked: Headers = [...held, [':acl', 'private']]
  const begun = await client.requestOnce({ method: 'POST', key, query: { uploads: '' }, headers: asked })
  const uploadId = childText(parseXml(begun.body), 'UploadId')!
  const bodies = [Buffer.alloc(PART_BYTES, 'part one '), Buffer.alloc(1000, 'part two ')]
  let list = ''
  for (const [index, body] of bodies.entries()) {
    await client.requestOnce({ method: 'PUT', key, query: { uploadId, partNumber: index + 1 }, body })
    list += `<Part><PartNumber>${index + 1}</PartNumber><ETag>"${md5Of(body)}"</ETag></Part>`
  }
  const body = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`)
  await client.requestOnce({ method: 'POST', key, query: { uploadId }, body })
  const etag = `${md5Of(Buffer.concat(bodies.map(one => createHash('md5').update(one).digest())))}-2`
  const whole = Buffer.concat(bodies)
  const tag: Headers = traits.tellsParts ? [['etag', `"${etag}"`]] : []
  return [key, { ...MARKER, md5: md5Of(whole), size: whole.length, headers: [...held, ...tag] }]
}
