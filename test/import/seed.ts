/** A bucket with everything that an import has to carry, and what it must look like afterwards. */
import { createHash } from 'node:crypto'
import type { Client } from '../../src/cli/import/client.ts'
import { childText } from '../../src/lib/xml.ts'
import { parseXml } from '../../src/lib/xml-reader.ts'

type Headers = readonly (readonly [string, string])[]

/** One version as it must be found at the target; markers have no bytes. */
export interface Expected {
  readonly md5: string | undefined
  readonly size: number
  /** Answers must carry these, by neutral name. */
  readonly headers: Headers
  readonly tags: Readonly<Record<string, string>>
  readonly isPublic: boolean
}

/** Versions of each key, oldest first. */
export type Seeded = ReadonlyMap<string, readonly Expected[]>

export interface Seeding {
  readonly objects: number
  /** A server that takes what others do not: keys that need care, small classes. */
  readonly isStrict: boolean
}

const YEAR_MS = 365 * 24 * 3600 * 1000
const UNTIL = new Date(Math.ceil(Date.now() / 1000) * 1000 + YEAR_MS).toISOString()
const IN_FLIGHT = 16
const MARKER: Expected = { md5: undefined, size: 0, headers: [], tags: {}, isPublic: false }
const PART_BYTES = 5 * 2 ** 20

const md5Of = (body: Buffer): string => createHash('md5').update(body).digest('hex')

const STRANGE = ['ü +&=?#%.txt', "it's (a) *test*!", 'trailing/', '日本/語', 'a//b', '\u{1f600}', '%41%2F', 'quote"<&>']

export const keyOf = (index: number): string => {
  const strange = index % 25 === 24 ? STRANGE[Math.floor(index / 25) % STRANGE.length]! : 'object'
  return `k${String(index).padStart(6, '0')}-${strange}`
}

/** What the second, third … version of a key is made with depends on the key's number alone. */
function kindOf(index: number): { headers: Headers; tags: Record<string, string>; isPublic: boolean } {
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
      return { ...none, isPublic: true }
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
      return { ...none, headers: [[':storage-class', 'STANDARD_IA']] }
    default:
      return none
  }
}

async function put(client: Client, key: string, index: number, round: number): Promise<Expected> {
  const body = Buffer.from(index % 50 === 49 ? '' : `${key} in its version ${round}, ${'x'.repeat((index * 37) % 900)}`)
  const { headers, tags, isPublic } = kindOf(index)
  const asked: [string, string][] = [...headers.map(([name, value]): [string, string] => [name, value])]
  asked.push(['content-md5', createHash('md5').update(body).digest('base64')])
  const pairs = Object.entries(tags).map(pair => pair.map(encodeURIComponent).join('='))
  if (pairs.length > 0) asked.push([':tagging', pairs.join('&')])
  if (isPublic) asked.push([':acl', 'public-read'])
  if (index % 10 === 9) {
    asked.push([':checksum-sha256', createHash('sha256').update(body).digest('base64')])
  }
  await client.once({ method: 'PUT', key, headers: asked, body })
  return { md5: md5Of(body), size: body.length, headers, tags, isPublic }
}

async function inFlight(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
}

/** Servers that tell times in seconds must be able to tell which came first. */
async function nextSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1000)
  while (Math.floor(Date.now() / 1000) <= second + 1) await new Promise(resolve => setTimeout(resolve, 50))
}

/** In rounds over all keys, so that versions of a key lie apart in time as they do in life. */
export async function seed(client: Client, { objects, isStrict }: Seeding): Promise<Seeded> {
  await client.once({ method: 'PUT', headers: [[':bucket-object-lock-enabled', 'true']] })
  const seeded = new Map<string, Expected[]>()
  const remove = async (key: string): Promise<Expected> => {
    await client.once({ method: 'DELETE', key })
    return MARKER
  }
  const keyed = (index: number): string => (isStrict ? keyOf(index) : `k${String(index).padStart(6, '0')}-object`)
  const rounds: readonly ((index: number, key: string) => Promise<Expected> | undefined)[] = [
    (index, key) => put(client, key, index, 1),
    (index, key) => (index % 10 < 2 ? (index % 10 === 0 ? put(client, key, index, 2) : remove(key)) : undefined),
    (index, key) => (index % 20 === 1 || index % 10 === 0 ? put(client, key, index, 3) : undefined),
    (index, key) => (index % 30 === 2 ? remove(key) : undefined),
  ]
  for (let index = 0; index < objects; index++) seeded.set(keyed(index), [])
  for (const round of rounds) {
    await inFlight(objects, async index => {
      const made = await round(index, keyed(index))
      if (made !== undefined) seeded.get(keyed(index))!.push(made)
    })
    if (!isStrict) await nextSecond()
  }
  for (const [key, expected] of [await large(client), await inParts(client, isStrict)]) seeded.set(key, [expected])
  return seeded
}

async function large(client: Client): Promise<[string, Expected]> {
  const body = Buffer.alloc(6 * 2 ** 20 + 17, 'large and whole ')
  await client.once({ method: 'PUT', key: 'z-large', headers: [contentMd5(body)], body })
  return ['z-large', { ...MARKER, md5: md5Of(body), size: body.length }]
}

const contentMd5 = (body: Buffer): readonly [string, string] => [
  'content-md5',
  createHash('md5').update(body).digest('base64'),
]

/**
 * Two parts and a hold: its entity tag must come out the same. The other server forgets holds of uploads and gives out
 * no single parts, so there only the bytes and the metadata can be asked for.
 */
async function inParts(client: Client, isStrict: boolean): Promise<[string, Expected]> {
  const key = 'z-parts'
  const hold: Headers = isStrict ? [[':object-lock-legal-hold', 'ON']] : []
  const held: Headers = [...hold, [':meta-made', 'in parts']]
  // The other server cannot show the list of an upload that was begun without one.
  const asked: Headers = [...held, [':acl', 'private']]
  const begun = await client.once({ method: 'POST', key, query: { uploads: '' }, headers: asked })
  const uploadId = childText(parseXml(begun.body), 'UploadId')!
  const bodies = [Buffer.alloc(PART_BYTES, 'part one '), Buffer.alloc(1000, 'part two ')]
  let list = ''
  for (const [index, body] of bodies.entries()) {
    await client.once({ method: 'PUT', key, query: { uploadId, partNumber: index + 1 }, body })
    list += `<Part><PartNumber>${index + 1}</PartNumber><ETag>"${md5Of(body)}"</ETag></Part>`
  }
  const body = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`)
  await client.once({ method: 'POST', key, query: { uploadId }, body })
  const etag = `${md5Of(Buffer.concat(bodies.map(one => createHash('md5').update(one).digest())))}-2`
  const whole = Buffer.concat(bodies)
  const tag: Headers = isStrict ? [['etag', `"${etag}"`]] : []
  return [key, { ...MARKER, md5: md5Of(whole), size: whole.length, headers: [...held, ...tag] }]
}
