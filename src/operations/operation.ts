/**
 * The vocabulary of operations. One declaration says everything about one: what it answers to, what it needs permission
 * for, what it reads from the request and what it does. Names of headers are neutral here: `:acl` is the dialect's
 * header of that name, anything without a colon is a plain one. Only the edge knows how they are spelled on the wire.
 */
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { XmlDocument } from '../lib/xml-writer.ts'
import type { Action } from '../rules/access/actions.ts'
import type { Header, ObjectName, OperationContext, RequestView } from './context.ts'

export type HttpMethod = 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
export type ResourceLevel = 'service' | 'bucket' | 'object'

export interface Match {
  readonly method: HttpMethod
  readonly on: ResourceLevel
  /** Required: `?name` a query parameter, `?name=value` with that value, `:name` a dialect header. */
  readonly requires?: readonly string[]
}

/** One permission that must hold. Without `on` it concerns what the request addresses. */
export interface RequiredPermission {
  readonly action: Action
  readonly on?: ObjectName
  /**
   * The action is about the object that the request makes, and what is stored under its key now has no say: whether it
   * may be so made is up to the bucket's owner, or to the writer, who will own it.
   */
  readonly forNewObjectOf?: 'bucket' | 'writer'
}

export interface OperationResponse {
  readonly status?: number
  /** Neutral names; a header without a value is not sent. */
  readonly headers?: readonly Header[]
  readonly body?: XmlDocument | Buffer | AsyncIterable<Buffer>
  /** Of a streamed body. */
  readonly length?: number
}

/** Reads one field of an operation's input. An object, so that its type is inferred. */
export interface Decoder<T> {
  readonly decode: (request: RequestView) => T
}

type Inputs = Readonly<Record<string, Decoder<unknown>>>
type Input<I extends Inputs> = { readonly [K in keyof I]: I[K] extends Decoder<infer T> ? T : never }

export interface Declaration<I extends Inputs> {
  readonly name: string
  readonly match: Match
  /** Evaluated before the input is decoded, so it may read the request but must not refuse it for its form. */
  readonly permission: (request: RequestView, target: ObjectName) => readonly RequiredPermission[]
  readonly input: I
  /** The bucket is being made, or need not exist. */
  readonly withoutBucket?: boolean
  /** Anonymous callers need a policy for this; ACLs do not grant it. */
  readonly anonymousNeedsPolicy?: boolean
  /** Its specification has one general fault for invalid requests; a dialect may fold others into it. */
  readonly foldsFaults?: boolean
  /** It concerns the upload named in the query, whose initiator has rights of their own (R99). */
  readonly ofUpload?: boolean
  /**
   * Condition keys that only its body answers. It may be read once they are all that could still refuse the request;
   * `run` then authorizes again with the values of the body, before any effect.
   */
  readonly deferredKeys?: readonly string[]
  /** It is posted as a form, whose fields stand for headers and name the key. */
  readonly takesForm?: boolean
  /** It writes objects: with its success an object exists (true), or only a part of one to come (false). */
  readonly createsObject?: boolean
  /** Conditions that it alone evaluates: on any other request their headers are refused, not ignored. */
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
  readonly evaluates: readonly string[]
  readonly decode: (request: RequestView) => unknown
  readonly run: (ctx: OperationContext, input: unknown) => MaybePromise<OperationResponse>
}

export function operation<I extends Inputs>(declared: Declaration<I>): Operation {
  const fields = Object.entries(declared.input)
  // Copied and filled in, so that all inputs of an operation have one shape from the start.
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
    evaluates: declared.evaluates ?? [],
    decode(request) {
      const input = { ...blank }
      for (const [name, field] of fields) input[name] = field.decode(request)
      return input
    },
    run: (ctx, input) => declared.run(ctx, input as Input<I>),
  }
}

/** The common case: one action on what the request addresses. */
export const requires =
  (...actions: readonly Action[]) =>
  (): readonly RequiredPermission[] =>
    actions.map(action => ({ action }))

/** Actions on a version by its id have names of their own. */
export const requiresForVersion =
  (current: Action, named: Action) =>
  (request: RequestView): readonly RequiredPermission[] => [
    { action: request.query('versionId') === undefined ? current : named },
  ]
