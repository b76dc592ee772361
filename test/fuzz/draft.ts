/** A request before it is signed, and the changes that keep its signature valid. */
import { SCHEMES } from '../../src/auth/signing.ts'
import type { Pair, Signer } from '../specimens/signing.ts'
import { type Case, contentMd5, type DialectName, type Place } from '../specimens/specimens.ts'
import type { Dice } from './dice.ts'
import { METHODS, oddHeader, oddQuery, oddValue } from './odd.ts'
import { spoilBody, spoilText } from './spoil.ts'

/** The target of a shot. */
export interface Target {
  readonly place: Place
  /** Another account's bucket that no shot may change. */
  readonly foreign: string
  readonly baseHost: string
  readonly cases: readonly Case[]
  /** Versions of the key in the locked bucket. */
  readonly versions: readonly string[]
  signer(dialect: DialectName): Signer
  /** Signs for the admin API; undefined where that is not a target. */
  admin?(): Signer
}

export interface Draft {
  dialect: DialectName
  method: string
  bucket: string | undefined
  /** Path on the bucket's host, as sent. */
  path: string
  /** Parts of the query, as sent. */
  query: string[]
  /** `:name` is a header of the dialect. */
  headers: Pair[]
  body: Buffer
}

export function draftOf({ operation, specimen }: Case, target: Target, dice: Dice): Draft {
  const dialect = dice.pick(['svc', 's3'] as const)
  const asked = specimen.ask(target.place, dialect)
  const [path = '/', query = ''] = asked.path.split(/\?(.*)/s)
  return {
    dialect,
    method: operation.match.method,
    bucket: asked.bucket,
    path,
    query: query === '' ? [] : query.split('&'),
    headers: [...(asked.headers ?? [])],
    body: Buffer.from(asked.body ?? ''),
  }
}

type Change = (draft: Draft, dice: Dice, target: Target) => void

/** Escapes every character that is invalid in a request line. */
export const inTarget = (text: string): string =>
  text.replace(/[^!-~]|#/g, c => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`)

const inQuery = (text: string): string => inTarget(text).replace(/[&?]/g, c => (c === '&' ? '%26' : '%3F'))

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const inHeader = (text: string): string => text.replace(/[\0-\x08\x0a-\x1f\x7f]/g, '')

function plausible(name: string, target: Target, dice: Dice): string {
  if (name === 'versionId') return dice.pick(['null', ...target.versions])
  if (name === 'uploadId') return target.place.uploadId
  if (name === ':copy-source') {
    const from = dice.pick([target.place.bucket, target.place.locked, target.foreign, 'none'])
    const version = dice.chance(0.3) ? `?versionId=${dice.pick(['null', 'x', '', ...target.versions])}` : ''
    return dice.pick(['/', '', '//', '%2F']) + from + dice.pick(['/', '/../', '%2f', '']) + target.place.key + version
  }
  return oddValue(dice)
}

const spoilAPiece: Change = (draft, dice, target) => {
  if (draft.query.length === 0) return addAPiece(draft, dice, target)
  const place = dice.below(draft.query.length)
  const [name = ''] = draft.query[place]!.split('=')
  draft.query[place] = `${name}=${inQuery(dice.chance(0.5) ? oddValue(dice) : plausible(name, target, dice))}`
}

const addAPiece: Change = (draft, dice, target) => {
  const name = oddQuery(dice)
  draft.query.push(dice.chance(0.2) ? name : `${name}=${inQuery(plausible(name, target, dice))}`)
}

const addAHeader: Change = (draft, dice, target) => {
  const name = oddHeader(dice)
  draft.headers.push([name, inHeader(plausible(name, target, dice))])
}

/** A customer key that is valid, or has one error. */
const addACustomerKey: Change = (draft, dice) => {
  const key = dice.bytes(dice.pick([32, 32, 32, 31, 0]))
  const start = dice.pick([':', ':copy-source-'])
  const trio: Pair[] = [
    [`${start}server-side-encryption-customer-algorithm`, dice.pick(['AES256', 'AES256', 'AES128'])],
    [`${start}server-side-encryption-customer-key`, key.toString('base64')],
    [`${start}server-side-encryption-customer-key-md5`, contentMd5(dice.chance(0.8) ? key : 'other')[1]],
  ]
  draft.headers.push(...trio.filter(() => dice.chance(0.9)))
}

const CHANGES: readonly (readonly [number, Change])[] = [
  [5, spoilAPiece],
  [3, addAPiece],
  [5, addAHeader],
  [1, addACustomerKey],
  [8, (draft, dice) => void (draft.body = proven(draft, spoilBody(draft.body, dice), dice))],
  [1, (draft, dice) => void draft.query.splice(dice.below(draft.query.length + 1), 1)],
  [1, draft => void draft.query.push(...draft.query.slice(0, 1))],
  [1, (draft, dice) => void draft.headers.splice(dice.below(draft.headers.length + 1), 1)],
  [1, draft => void draft.headers.push(...draft.headers.slice(0, 1))],
  [
    3,
    (draft, dice) => {
      if (draft.headers.length === 0) return
      const place = dice.below(draft.headers.length)
      const [name, value] = draft.headers[place]!
      draft.headers[place] = [name, inHeader(spoilText(value, dice))]
    },
  ],
  [2, (draft, dice) => void (draft.path = `/${inTarget(spoilText(draft.path.slice(1), dice)).replaceAll('?', '%3f')}`)],
  [
    1,
    (draft, dice, { place, foreign }) => void (draft.bucket = dice.pick([place.locked, place.bucket, foreign, 'none'])),
  ],
  [1, (draft, dice) => void (draft.bucket = inTarget(oddValue(dice)).replaceAll('?', '%3f').slice(0, 300))],
  [1, (draft, dice) => void (draft.method = dice.pick(METHODS))],
]

/** A body without a checksum is refused before it is read, so most get a correct one. */
function proven(draft: Draft, body: Buffer, dice: Dice): Buffer {
  if (dice.chance(0.1)) return body
  const others = draft.headers.filter(([name]) => name !== 'Content-MD5')
  const isDocument = others.length < draft.headers.length
  draft.headers = isDocument || dice.chance(0.3) ? [...others, contentMd5(body)] : others
  return body
}

export function spoilDraft(draft: Draft, dice: Dice, target: Target): void {
  for (let times = dice.pick([1, 1, 1, 2, 3]); times > 0; times--) dice.weighed(CHANGES)(draft, dice, target)
}

const isLabel = (name: string): boolean => /^[A-Za-z0-9._-]{1,63}$/.test(name)

export interface Addressed {
  readonly host: string
  readonly target: string
}

/** By the bucket's host, or that of its website, if its name is a valid host; else by path. */
export function addressed({ bucket, path, query }: Draft, baseHost: string, dice: Dice): Addressed {
  const suffix = query.length === 0 ? '' : `?${query.join('&')}`
  if (bucket === undefined) return { host: baseHost, target: path + suffix }
  if (isLabel(bucket) && dice.chance(0.05)) {
    return { host: `${bucket}.website.${baseHost}`, target: path + suffix }
  }
  if (isLabel(bucket) && dice.chance(0.5)) return { host: `${bucket}.${baseHost}`, target: path + suffix }
  return { host: baseHost, target: `/${bucket}${path}${suffix}` }
}

/** Headers as sent over the wire. */
export function wireHeaders({ headers, dialect }: Draft): Pair[] {
  const prefix = SCHEMES[dialect].headerPrefix
  return headers.map(([name, value]) => [name.startsWith(':') ? prefix + name.slice(1) : name, value])
}
