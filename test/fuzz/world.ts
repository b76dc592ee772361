/**
 * The fuzzer's own buckets, which shots may ruin and which are restored now and then, and data that no shot may change:
 * a bucket of another account, and a version under compliance retention.
 */
import { createHash } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { ADMIN_SCHEMES } from '../../src/admin/administrator.ts'
import { SCHEMES } from '../../src/auth/signing.ts'
import { canonicalIdOf } from '../../src/model/account.ts'
import { makePlace, type Send } from '../specimens/place.ts'
import { type Pair, type Signer, sha256, signedByHeader } from '../specimens/signing.ts'
import { type Asked, cases, contentMd5, type DialectName, type Place } from '../specimens/specimens.ts'
import type { Target } from './draft.ts'

export const BASE_HOST = 'hf.example'
const REGION = 'us-east-1'
const SHOOTER = { accountId: '111111111111', accessKey: 'AKSHOOTER', secretKey: 'secret-of-the-shooter-0123456789' }
const KEEPER = { accountId: '222222222222', accessKey: 'AKKEEPER', secretKey: 'secret-of-the-keeper-0123456789' }
export const ROOT = { accessKey: 'AKROOT', secretKey: 'secret-of-the-root-0123456789' }
export const SECRET = SHOOTER.secretKey

type Who = typeof SHOOTER

export const ACCOUNTS = {
  accounts: [SHOOTER, KEEPER].map(({ accountId, accessKey, secretKey }) => ({
    accountId,
    displayName: `account ${accountId}`,
    accessKeys: [{ accessKey, secretKey }],
  })),
}

const signerOf = (who: Who, dialect: DialectName): Signer => ({
  scheme: SCHEMES[dialect],
  accessKey: who.accessKey,
  secretKey: who.secretKey,
  region: REGION,
  now: Date.now(),
})

interface Answered {
  readonly status: number
  readonly body: Buffer
  header(name: string): string | undefined
}

type Asking = Asked & { readonly method: string; readonly bytes?: Buffer }

function ask(port: number, who: Who, what: Asking): Promise<Answered> {
  const body = what.bytes ?? Buffer.from(what.body ?? '')
  const x = SCHEMES.s3.headerPrefix
  const own = (what.headers ?? []).map(
    ([name, value]): Pair => [name.startsWith(':') ? x + name.slice(1) : name, value],
  )
  const host = what.bucket === undefined ? BASE_HOST : `${what.bucket}.${BASE_HOST}`
  const headers: Pair[] = [['Host', host], ['Content-Length', String(body.length)], contentMd5(body), ...own]
  const unsigned = { method: what.method, target: what.path, headers }
  const { request } = signedByHeader(signerOf(who, 's3'), unsigned, { contentHash: sha256(body) })
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', method: what.method, path: what.path, setHost: false, agent: false }
    const sent = httpRequest(
      { ...options, headers: request.headers.flat() as unknown as Record<string, string> },
      answer => {
        const chunks: Buffer[] = []
        answer.on('data', chunk => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const header = (name: string): string | undefined => answer.headers[name] as string | undefined
          resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks), header })
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

const DAY_MS = 86_400_000
const NAMES = { bucket: 'range', locked: 'range-locked', empty: 'range-empty', fresh: 'range-fresh', key: 'k' }

/** One for each kind of storage: inline, packed, and in a file of its own. */
const KEPT_SIZES = [10, 100_000, 1_500_000]
const FOREIGN = 'canary'

/** Reads back all data that must not change. */
async function untouchable(port: number, kept: string): Promise<string> {
  const digests: string[] = []
  const read = async (who: Who, what: Omit<Asking, 'method'>): Promise<void> => {
    const { status, body } = await ask(port, who, { method: 'GET', ...what })
    // A refusal has a new id each time.
    const shown = status < 300 ? createHash('sha256').update(body).digest('hex') : ''
    digests.push(`${what.bucket}${what.path}: ${status} ${shown}`)
  }
  for (const size of KEPT_SIZES) await read(KEEPER, { bucket: FOREIGN, path: `/kept-${size}` })
  for (const query of ['versions', 'list-type=2', 'uploads', 'acl', 'policy', 'tagging', 'cors']) {
    await read(KEEPER, { bucket: FOREIGN, path: `/?${query}` })
  }
  await read(SHOOTER, { bucket: NAMES.locked, path: `/retained?versionId=${kept}` })
  await read(SHOOTER, { bucket: NAMES.locked, path: `/retained?retention&versionId=${kept}` })
  return digests.join('\n')
}

export class World {
  readonly #port: number
  readonly #kept: string
  readonly #before: string
  #place: Place
  #versions: readonly string[]

  private constructor(port: number, place: Place, kept: string, before: string) {
    this.#port = port
    this.#place = place
    this.#kept = kept
    this.#before = before
    this.#versions = [kept]
  }

  static async make(port: number): Promise<World> {
    const place = await makePlace(senderOf(port), namesNow())
    const seen = await ask(port, KEEPER, { method: 'PUT', bucket: FOREIGN, path: '/' })
    if (seen.status !== 200) throw new Error(`no canary: ${seen.body}`)
    for (const size of KEPT_SIZES) {
      await ask(port, KEEPER, {
        method: 'PUT',
        bucket: FOREIGN,
        path: `/kept-${size}`,
        bytes: Buffer.alloc(size, 'kept'),
      })
    }
    const retained = await ask(port, SHOOTER, {
      method: 'PUT',
      bucket: place.locked,
      path: '/retained',
      body: 'kept for everybody',
      headers: [
        [':object-lock-mode', 'COMPLIANCE'],
        [':object-lock-retain-until-date', new Date(Date.now() + DAY_MS).toISOString()],
      ],
    })
    const kept = retained.header('x-amz-version-id') ?? ''
    return new World(port, place, kept, await untouchable(port, kept))
  }

  get target(): Target {
    return {
      place: this.#place,
      foreign: FOREIGN,
      baseHost: BASE_HOST,
      cases: cases(),
      versions: this.#versions,
      signer: dialect => signerOf(SHOOTER, dialect),
      admin: () => ({ ...signerOf({ ...ROOT, accountId: '' }, 'svc'), scheme: ADMIN_SCHEMES.svc }),
    }
  }

  /** Shots add policies and encryption, and remove things: whatever would block later shots is undone. */
  async restore(): Promise<void> {
    const send = senderOf(this.#port)
    for (const bucket of [this.#place.bucket, this.#place.locked]) {
      for (const query of ['policy', 'publicAccessBlock', 'ownershipControls', 'encryption', 'website']) {
        await send({ method: 'DELETE', bucket, path: `/?${query}` })
      }
      const lock = await send({ method: 'GET', bucket, path: '/?object-lock' })
      const { specimen } = cases().find(({ route }) => route === 'PUT bucket ?object-lock')!
      const asked = specimen.ask(this.#place, 's3')
      if (lock.status === 200) await send({ method: 'PUT', ...asked, bucket })
    }
    this.#place = await makePlace(send, namesNow())
    const made = await ask(this.#port, SHOOTER, {
      method: 'PUT',
      bucket: this.#place.locked,
      path: `/${this.#place.key}`,
      body: 'one more',
    })
    this.#versions = [this.#kept, made.header('x-amz-version-id') ?? 'null']
  }

  /** The differences in data that must not change. */
  async differences(): Promise<string[]> {
    await this.restore()
    const before = this.#before.split('\n')
    const after = (await untouchable(this.#port, this.#kept)).split('\n')
    return before.flatMap((line, index) => (line === after[index] ? [] : [`was ${line}, is ${after[index]}`]))
  }
}

const senderOf =
  (port: number): Send =>
  what =>
    ask(port, SHOOTER, what)

const namesNow = (): Omit<Place, 'uploadId'> => ({
  ...NAMES,
  owner: canonicalIdOf(SHOOTER.accountId),
  until: new Date(Date.now() + 60_000).toISOString(),
})
