/**
 * The vocabulary of operations. One declaration states everything about an operation: the requests it matches, the
 * permissions it requires, its input and its effect. Header names are neutral: `:acl` is the dialect's header of that
 * name; a name without a colon is a plain header. Only the edge knows how they are spelled on the wire.
 */
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { XmlDocument } from '../lib/xml-writer.ts'
import { Fault } from '../model/faults.ts'
import type { Action } from '../rules/access/actions.ts'
import { headerName } from '../rules/access/names.ts'
import { type Precondition, parseEtags } from '../rules/conditional-requests.ts'
import { LIMITS } from '../rules/limits.ts'
import type { Header, ObjectName, OperationContext, RequestView } from './context.ts'

export type HttpMethod = 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
export type ResourceLevel = 'service' | 'bucket' | 'object'

export interface Match {
  readonly method: HttpMethod
  readonly on: ResourceLevel
  /** `?name` requires a query parameter, `?name=value` one with that value, `:name` a dialect header. */
  readonly requires?: readonly string[]
}

/** One required permission. Without `on` it concerns the request's target. */
export interface RequiredPermission {
  readonly action: Action
  readonly on?: ObjectName
  /**
   * The action concerns the object that the request creates, and the object now stored under its key does not matter:
   * the bucket's owner decides, or the writer, who will own it.
   */
  readonly forNewObjectOf?: 'bucket' | 'writer'
}

export interface OperationResponse {
  readonly status?: number
  /** Neutral names; a header without a value is not sent. */
  readonly headers?: readonly Header[]
  readonly body?: XmlDocument | Buffer | AsyncIterable<Buffer>
  /** The length of a streamed body. */
  readonly length?: number
}

/** Decodes one field of an operation's input. An object, so that its type is inferred. */
export interface Decoder<T> {
  readonly decode: (request: RequestView) => T
}

type Inputs = Readonly<Record<string, Decoder<unknown>>>
type Input<I extends Inputs> = { readonly [K in keyof I]: I[K] extends Decoder<infer T> ? T : never }

interface Declaration<I extends Inputs> {
  readonly name: string
  readonly match: Match
  /** Evaluated before the input is decoded: it may read the request but must not reject its form. */
  readonly permission: (request: RequestView, target: ObjectName) => readonly RequiredPermission[]
  readonly input: I
  /** The bucket is created by this operation, or need not exist. */
  readonly withoutBucket?: boolean
  /** Anonymous callers need a policy for this; ACLs do not grant it. */
  readonly anonymousNeedsPolicy?: boolean
  /** D18. Its specification lists one code for invalid requests; a dialect may map other codes to that one. */
  readonly foldsFaults?: boolean
  /** It acts on the upload named in the query, whose initiator has implicit permissions (R99). */
  readonly ofUpload?: boolean
  /**
   * Condition keys whose values are in the body: authorization first assumes that they allow the request, and `run`
   * authorizes again once the body is read.
   */
  readonly deferredKeys?: readonly string[]
  /** Its request is a form, whose fields replace headers and name the key. */
  readonly takesForm?: boolean
  /** It writes data: true if its success creates an object, false if only a part of one. */
  readonly createsObject?: boolean
  /** It stores the tags and the lock that its headers name; a copy stores the tags only if it replaces its source's. */
  readonly storesTagsAndLock?: boolean
  /** Conditional headers that it evaluates. Other operations refuse these headers instead of ignoring them. */
  readonly evaluates?: readonly string[]
  readonly run: (ctx: OperationContext, input: Input<I>) => MaybePromise<OperationResponse>
}

export interface Operation {
  readonly name: string
  readonly match: Match
  readonly permission: Declaration<Inputs>['permission']
  readonly withoutBucket: boolean
  readonly anonymousNeedsPolicy: boolean
  readonly foldsFaults: boolean
  readonly ofUpload: boolean
  readonly deferredKeys: readonly string[]
  readonly takesForm: boolean
  readonly createsObject: boolean | undefined
  readonly storesTagsAndLock: boolean
  readonly evaluates: readonly string[]
  readonly decode: (request: RequestView) => unknown
  readonly run: (ctx: OperationContext, input: unknown) => MaybePromise<OperationResponse>
}

export function operation<I extends Inputs>(declared: Declaration<I>): Operation {
  const fields = Object.entries(declared.input)
  // Every input starts as a copy of this, so that all have the same hidden class.
  const blank: Record<string, unknown> = Object.fromEntries(fields.map(([name]) => [name, undefined]))
  return {
    name: declared.name,
    match: declared.match,
    permission: declared.permission,
    withoutBucket: declared.withoutBucket ?? false,
    anonymousNeedsPolicy: declared.anonymousNeedsPolicy ?? false,
    foldsFaults: declared.foldsFaults ?? false,
    ofUpload: declared.ofUpload ?? false,
    deferredKeys: declared.deferredKeys ?? [],
    takesForm: declared.takesForm ?? false,
    createsObject: declared.createsObject,
    storesTagsAndLock: declared.storesTagsAndLock ?? false,
    evaluates: declared.evaluates ?? [],
    decode(request) {
      const input = { ...blank }
      for (const [name, field] of fields) input[name] = field.decode(request)
      return input
    },
    run: (ctx, input) => declared.run(ctx, input as Input<I>),
  }
}

/** The common case: one action on the request's target. */
export const requires =
  (...actions: readonly Action[]) =>
  (): readonly RequiredPermission[] =>
    actions.map(action => ({ action }))

/** Actions on a version by id have their own names. */
export const requiresForVersion =
  (current: Action, named: Action) =>
  (request: RequestView): readonly RequiredPermission[] => [
    { action: request.query('versionId') === undefined ? current : named },
  ]

/** Decoders of input fields validate one value each and refuse it with a fault that names it. */
type Parse<T> = (value: string, name: string) => T

const sentName = (name: string): string => (name.startsWith(':') ? headerName(name.slice(1)) : name)

export const maybe = {
  header: <T>(name: string, parse: Parse<T>): Decoder<T | undefined> => ({
    decode(request) {
      const value = request.header(name)
      return value === undefined ? undefined : parse(value, sentName(name))
    },
  }),
  query: <T>(name: string, parse: Parse<T>): Decoder<T | undefined> => ({
    decode(request) {
      const value = request.query(name)
      return value === undefined ? undefined : parse(value, name)
    },
  }),
}

export const asText: Parse<string> = value => value

export const invalidArgument = (name: string, value: string, reason?: string): Fault =>
  new Fault('InvalidArgument', {
    ArgumentName: name,
    ArgumentValue: value,
    ...(reason === undefined ? {} : { reason }),
  })

export const oneOf =
  <const W extends readonly string[]>(...words: W): Parse<W[number]> =>
  (value, name) => {
    if (!words.includes(value)) throw invalidArgument(name, value)
    return value
  }

export const asCount: Parse<number> = (value, name) => {
  if (!/^\d{1,10}$/.test(value) || Number(value) > 0x7fffffff) throw invalidArgument(name, value)
  return Number(value)
}

/** Entries on a page: 1,000 at most and by default. */
export const pageSize = (name: string): Decoder<number> => ({
  decode: request => {
    const value = request.query(name)
    return value === undefined || value === '' ? LIMITS.listKeysMax : Math.min(LIMITS.listKeysMax, asCount(value, name))
  },
})

/** If-Match and If-None-Match of a write. */
export const writePrecondition: Decoder<Precondition> = {
  decode: request => {
    const ifMatch = request.header('if-match')
    const ifNoneMatch = request.header('if-none-match')
    return {
      ifMatch: ifMatch === undefined ? undefined : parseEtags(ifMatch, 'strong'),
      ifNoneMatch: ifNoneMatch === undefined ? undefined : parseEtags(ifNoneMatch, 'weak'),
    }
  },
}

export const versionId: Decoder<string | undefined> = maybe.query('versionId', asText)

const PART_NUMBER = `Part number must be an integer between 1 and ${LIMITS.partNumberMax}, inclusive`

export const invalidPartNumber = (value: string): Fault => invalidArgument('partNumber', value, PART_NUMBER)

/** A part of an upload, as reads name it: 1 to 10,000. */
export const partNumber: Decoder<number | undefined> = maybe.query('partNumber', (value, name) => {
  const number = asCount(value, name)
  if (number < 1 || number > LIMITS.partNumberMax) throw invalidPartNumber(value)
  return number
})

const ACCOUNT_ID = /^\d{12}$/

/** R7, D19. The bucket must have the owner that the caller expects. */
export function checkExpectedOwner(
  expected: string | undefined,
  owner: string,
  { accounts, behavior }: Pick<OperationContext, 'accounts' | 'behavior'>,
): void {
  if (expected === undefined) return
  if (!ACCOUNT_ID.test(expected)) throw new Fault(behavior.invalidAccountId)
  if (accounts.byCanonicalId(owner)?.accountId !== expected) throw new Fault('AccessDenied')
}
