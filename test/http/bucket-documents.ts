/** How tests set, read and remove a bucket's documents. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type Client, inBoth, makeBucket, OTHER, type Received, type Sending, type Who } from './server.ts'

export const md5 = (body: string): readonly [string, string] => [
  'Content-MD5',
  createHash('md5').update(body).digest('base64'),
]

export interface Documents {
  readonly bucket: string
  put(body: string, as?: Who | null): Promise<Received>
  get(as?: Who | null): Promise<Received>
  remove(as?: Who | null): Promise<Received>
}

export function documentsOf(client: Client, bucket: string, query: string): Documents {
  const at = { bucket, path: `/?${query}` }
  const by = (as: Who | null | undefined): Pick<Sending, 'as'> => (as === undefined ? {} : { as })
  return {
    bucket,
    put: (body, as) => client.send({ method: 'PUT', ...at, body, headers: [md5(body)], ...by(as) }),
    get: as => client.send({ method: 'GET', ...at, ...by(as) }),
    remove: as => client.send({ method: 'DELETE', ...at, ...by(as) }),
  }
}

/** The document of a response, without its declaration and namespace. */
export const shown = ({ body }: Received): string =>
  body
    .toString()
    .replace(/^<\?xml[^>]*>\n/, '')
    .replace(/ xmlns="[^"]*"/, '')

export function faultIs(answer: Received, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.code()], [status, code], answer.body.toString())
}

export interface Kind {
  /** The s3 dialect accepts the signed hash of the body as proof. */
  readonly signedHashProves?: boolean
  readonly query: string
  /** A valid document, and the document that is returned for it. */
  readonly good: string
  readonly shown?: string
  /** The fault before it has been set, or the document that is returned then. */
  readonly absent: string | { readonly document: string }
  readonly absentCodeStatus?: number
  readonly removable: boolean
  readonly putStatus?: (client: Client) => number
  /** Invalid documents: the error, the document, the code. All are 400. */
  readonly bad: readonly (readonly [string, string, string])[]
}

/** The behaviour that all documents share, and the documents that each refuses. */
export function documentSuite(title: string, kind: Kind): void {
  const status = (client: Client): number => kind.putStatus?.(client) ?? 200

  inBoth(`R12 ${title}: absent, set, returned, replaced, removed`, async client => {
    const at = documentsOf(client, await makeBucket(client), kind.query)
    const checkAbsent = async (): Promise<void> => {
      if (typeof kind.absent === 'string') faultIs(await at.get(), 404, kind.absent)
      else assert.equal(shown(await at.get()), kind.absent.document)
    }
    await checkAbsent()
    for (let turn = 0; turn < 2; turn++) {
      const put = await at.put(kind.good)
      assert.equal(put.status, status(client), put.body.toString())
      const got = await at.get()
      assert.equal(got.status, 200)
      assert.equal(shown(got), kind.shown ?? kind.good)
      assert.equal(got.headers.get('content-type'), 'application/xml')
    }
    if (!kind.removable) {
      assert.equal((await at.remove()).status, 405)
      return
    }
    assert.equal((await at.remove()).status, 204)
    await checkAbsent()
    assert.equal((await at.remove()).status, 204)
  })

  inBoth(`R103 R104 ${title}: the body needs a checksum, and a refused body changes nothing`, async client => {
    const bucket = await makeBucket(client)
    const at = documentsOf(client, bucket, kind.query)
    const before = await at.get()
    const send = (headers: Sending['headers'], body = kind.good) =>
      client.send({ method: 'PUT', bucket, path: `/?${kind.query}`, body, headers: headers ?? [] })
    const provenBySignature = kind.signedHashProves === true && client.dialect === 's3'
    if (!provenBySignature) faultIs(await send([]), 400, 'InvalidRequest')
    faultIs(await send([['Content-MD5', 'nonsense']]), 400, 'InvalidDigest')
    faultIs(await send([md5('something else')]), 400, 'BadDigest')
    faultIs(await send([[':checksum-crc32', 'AAAAAA==']]), 400, 'BadDigest')
    faultIs(await send([], ''), 400, 'MissingRequestBodyError')
    const after = await at.get()
    assert.deepEqual([after.status, after.code()], [before.status, before.code()])
  })

  inBoth(`R75 ${title}: an invalid document is refused without effect`, async client => {
    const at = documentsOf(client, await makeBucket(client), kind.query)
    await at.put(kind.good)
    const everywhere = [
      ['not XML', 'nonsense', 'MalformedXML'],
      ['another root', '<Other/>', 'MalformedXML'],
      ['a document type', `<!DOCTYPE a [<!ENTITY e "x">]>${kind.good}`, 'MalformedXML'],
      ['an unknown element', kind.good.replace(/<\/[^<]*>$/, end => `<__proto__>x</__proto__>${end}`), 'MalformedXML'],
    ] as const
    for (const [what, body, code] of [...everywhere, ...kind.bad]) {
      const answer = await at.put(body)
      assert.deepEqual([answer.status, answer.code()], [400, code], `${what}: ${answer.body}`)
    }
    assert.equal(shown(await at.get()), kind.shown ?? kind.good)
  })

  inBoth(`R9 ${title}: other accounts may neither read nor change it`, async client => {
    const at = documentsOf(client, await makeBucket(client), kind.query)
    for (const as of [OTHER, null]) {
      faultIs(await at.get(as), 403, 'AccessDenied')
      faultIs(await at.put(kind.good, as), 403, 'AccessDenied')
      if (kind.removable) faultIs(await at.remove(as), 403, 'AccessDenied')
    }
    const none = documentsOf(client, 'no-such-bucket', kind.query)
    faultIs(await none.get(), 404, 'NoSuchBucket')
    faultIs(await none.put(kind.good), 404, 'NoSuchBucket')
  })
}
