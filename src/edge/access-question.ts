/** What a request says, by the neutral condition keys under which policies ask about it. */
import type { SignatureVersion } from '../auth/authentication.ts'
import { dateHeader } from '../auth/timestamps.ts'
import { headerValues, type RawRequest } from '../http/raw-request.ts'
import type { Caller } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Pairs } from '../model/version.ts'
import type { ObjectName, Operation } from '../operations/operation.ts'
import { type ConditionValues, conditionsFromDate, conditionsFromTags } from '../rules/access/condition-values.ts'
import type { DeferredKeys } from '../rules/access/statements.ts'
import { parseCopySource } from '../rules/copy-source.ts'
import { parseTimestamp } from '../rules/http-date.ts'
import { parseTagHeader } from '../rules/tags.ts'
import type { DecodedRequest } from './decoded-request.ts'

/** A request as far as it matters for what may be done. */
export interface AccessQuestion {
  readonly request: RawRequest
  readonly view: DecodedRequest
  readonly caller: Caller
  readonly signatureVersion: SignatureVersion | undefined
  readonly operation: Operation
  readonly target: ObjectName
  readonly now: number
  readonly remoteAddress: string
  readonly secure: boolean
  /** `1.3`; undefined without TLS. */
  readonly tlsVersion: string | undefined
  readonly region: string
  /** What its body says, once that has been read. */
  readonly bodyConditions: ConditionValues
  /** Keys that only its body answers, as long as nobody has read it. */
  readonly deferred: DeferredKeys | undefined
}

/** Headers that answer the condition key of their own name. */
const FROM_HEADERS = [
  'acl',
  'content-sha256',
  'grant-full-control',
  'grant-read',
  'grant-read-acp',
  'grant-write',
  'grant-write-acp',
  'metadata-directive',
  'object-lock-legal-hold',
  'object-lock-mode',
  'object-ownership',
  'server-side-encryption',
  'server-side-encryption-customer-algorithm',
  'server-side-encryption-kms-key-id',
  'storage-class',
  'website-redirect-location',
] as const

/** The source in one spelling: a slash before it or an escape in it must not lead past a condition. */
function copySource(view: DecodedRequest): string | undefined {
  const sent = view.header(':copy-source')
  const source = sent === undefined ? undefined : parseCopySource(sent)
  return source === undefined ? sent : `${source.bucket}/${source.key}`
}

/** Tags that the new object will have because this request says so. A header that is no list is refused later on. */
function tags(view: DecodedRequest): Pairs {
  const sent = view.header(':tagging')
  const isIgnored = view.header(':copy-source') !== undefined && view.header(':tagging-directive') !== 'REPLACE'
  if (sent === undefined || isIgnored) return []
  try {
    return parseTagHeader(sent)
  } catch (error) {
    if (error instanceof Fault) return []
    throw error
  }
}

function retention(view: DecodedRequest, now: number): ConditionValues {
  const sent = view.header(':object-lock-retain-until-date')
  const until = sent === undefined ? undefined : parseTimestamp(sent)
  return until === undefined ? [] : conditionsFromDate(until, now)
}

/** The time that was signed. A header beside a signature in the query is not it. */
function signingTime(view: DecodedRequest, isInHeader: boolean, isForm: boolean): number | undefined {
  const sent =
    isInHeader || isForm
      ? (view.header(':date') ?? view.header('date'))
      : (view.query('X-Amz-Date') ?? view.query('X-Svc-Date'))
  return sent === undefined ? undefined : dateHeader(sent)?.ms
}

/** How a caller proved who it is; nothing for one who did not. */
function signature({ request, view, signatureVersion, operation, now }: AccessQuestion): ConditionValues {
  if (signatureVersion === undefined) return []
  const isInHeader = headerValues(request, 'authorization').length > 0
  const way = operation.takesForm ? 'POST' : isInHeader ? 'REST-HEADER' : 'REST-QUERY-STRING'
  const signedAt = signingTime(view, isInHeader, operation.takesForm)
  return [
    ...(signedAt === undefined ? [] : [['signatureage', [String(now - signedAt)]] as const]),
    ['authtype', [way]],
    ['signatureversion', [signatureVersion]],
  ]
}

/** What a request says, worked out when a policy asks for it, and not before: most requests meet none. */
export class RequestConditions implements Iterable<readonly [string, readonly string[]]> {
  readonly #question: AccessQuestion
  readonly #name: ObjectName

  constructor(question: AccessQuestion, name: ObjectName) {
    this.#question = question
    this.#name = name
  }

  [Symbol.iterator](): Iterator<readonly [string, readonly string[]]> {
    return contextOf(this.#question, this.#name).entries()
  }
}

function contextOf(question: AccessQuestion, name: ObjectName): Map<string, readonly string[]> {
  const { view, now, remoteAddress, secure, tlsVersion, region, operation } = question
  const context = new Map<string, readonly string[]>()
  const set = (key: string, value: string | undefined): void => {
    if (value !== undefined) context.set(key, [value])
  }
  for (const key of FROM_HEADERS) set(key, view.header(`:${key}`))
  for (const key of ['prefix', 'delimiter', 'max-keys']) set(key, view.query(key))
  set('copy-source', copySource(view))
  set('versionid', name.versionId)
  set('referer', view.header('referer'))
  set('useragent', view.header('user-agent'))
  set('if-match', view.header('if-match'))
  set('if-none-match', view.header('if-none-match'))
  set('sourceip', remoteAddress.replace(/^::ffff:/, ''))
  set('securetransport', String(secure))
  set('tlsversion', tlsVersion)
  set('requestedregion', region)
  set('objectcreationoperation', operation.createsObject === undefined ? undefined : String(operation.createsObject))
  set('currenttime', new Date(now).toISOString())
  set('epochtime', String(Math.floor(now / 1000)))
  const told = [
    ...conditionsFromTags(tags(view)),
    ...retention(view, now),
    ...signature(question),
    ...question.bodyConditions,
  ]
  for (const [key, values] of told) context.set(key, values)
  return context
}
