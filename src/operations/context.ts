import type { Bucket } from '../model/bucket.ts'
import type { Account, Caller } from '../model/caller.ts'
import type { Fault } from '../model/faults.ts'
import type { AclDocumentForm } from '../rules/access/acl-document.ts'
import type { Action } from '../rules/access/actions.ts'
import type { ConditionValues } from '../rules/access/condition-values.ts'
import type { Group } from '../rules/access/names.ts'
import type { EncryptionNames } from '../rules/documents/encryption.ts'
import type { Store } from '../store/store.ts'

/** A request as an operation sees it: decoded once, dialect-neutral. */
export interface RequestView {
  /** Value of a header, `:name` for a dialect's; undefined when it was not sent. */
  header(name: string): string | undefined
  /** Dialect headers with this prefix, the rest of their names in lower case: `:meta-`, `:checksum-`. */
  headersUnder(prefix: string): readonly (readonly [string, string])[]
  /** Value of a query parameter, empty for one without a value; undefined when it was not sent. */
  query(name: string): string | undefined
}

export interface ObjectName {
  readonly bucket: string
  readonly key: string
  readonly versionId?: string | undefined
}

export type Header = readonly [string, string | number | undefined]

/** Intended differences between the dialects; the edge defines the values of each. */
export interface DialectBehavior {
  /** D10. A plain DELETE of a held object is refused; otherwise it adds a delete marker. */
  readonly keepHeld: boolean
  /** D23. Creating a bucket that the caller already owns succeeds and changes nothing. */
  readonly recreateOwnBucket: boolean
  /** D2. If-Match on a write without a current object fails with `NoSuchKey` instead of `PreconditionFailed`. */
  readonly missingMatchIsNoSuchKey: boolean
  /** R103, D26. For some documents a signed hash of the body suffices, since some clients send nothing else. */
  readonly signedHashProves: boolean
  /** D28. Every response about a bucket names its region; otherwise only that of HeadBucket does. */
  readonly regionOnResponses: boolean
  /** R112. The fault for a checksum whose algorithm is not the declared one. */
  readonly checksumMismatch: 'InvalidRequest' | 'BadDigest'
  /** D14, D16, D21. How strictly an ACL document is read. */
  readonly acl: AclDocumentForm
  /** URIs of the grantee groups. */
  readonly groupUris: Readonly<Record<Group, string>>
  /** D7–D9, R108. Faults for invalid lock requests. */
  readonly locks: LockBehavior
  /** The status of a successful PutBucketTagging. */
  readonly bucketTaggingStatus: 200 | 204
  /** The names that documents use for encryption under a named key. */
  readonly encryptionNames: EncryptionNames
  /** D1. A failed If-None-Match on completion is `304 Not Modified` instead of a failed precondition. */
  readonly completeNotModified: boolean
  /** D5. The fault for a checksum type that is set or changed only on completion. */
  readonly lateChecksumType: 'BadDigest' | 'InvalidRequest'
  /** D6. The fault for a source too large for one copy. */
  readonly copyTooLarge: 'EntityTooLarge' | 'InvalidRequest'
  /** D13. The canned ACL `exec-read` is accepted wherever an ACL is. */
  readonly execReadEverywhere: boolean
  /** D15. Repeating a completion returns the first response; otherwise `NoSuchUpload`. */
  readonly repeatsCompletion: boolean
  /** D19. The fault for an expected owner that is not an account id. */
  readonly invalidAccountId: 'AccessDenied' | 'InvalidBucketOwnerAWSAccountID'
  /** D25. A write while versioning is suspended returns the version id `null`; otherwise none. */
  readonly namesNullVersion: boolean
  /** D22. Completing an upload with checksums requires the customer key it was created with. */
  readonly completionNeedsKey: boolean
}

interface LockBehavior {
  /** D7. The fault when the bucket has no object lock. */
  readonly withoutObjectLock: 'ObjectLockConfigurationNotFoundError' | 'InvalidRequest'
  /** D8. The fault for a document that is not a legal hold. */
  readonly badHold: 'InvalidRequest' | 'MalformedXML'
  /** D9. A hold is sent both in a header and in the document, and the two must agree. */
  readonly holdInHeader: boolean
  /** R108. The fault for a legal hold on a bucket. */
  readonly holdWithoutKey: 'InvalidRequest' | 'MethodNotAllowed'
}

/** Finds accounts by id, name or address. */
export interface AccountLookup {
  byCanonicalId(id: string): Account | undefined
  byEmail(email: string): readonly Account[]
}

/** The decoded body: chunk framing removed, signature and declared hash verified at its end. */
export interface IncomingBody {
  readonly stream: AsyncIterable<Buffer>
  /** The declared length; undefined without one. */
  readonly length: number | undefined
  /** Reserves memory for a body that is buffered whole; throws `SlowDown`. */
  reserveMemory(bytes: number): void
  /** Trailers, by neutral name (`:checksum-crc32`); complete at the end of the stream. */
  trailers(): ReadonlyMap<string, string>
  /** Trailers that were declared, by neutral name. */
  readonly declaredTrailers: readonly string[]
  /** The client signed a hash of the whole body, which is verified at its end. */
  readonly hashSigned: boolean
  /** The body may differ from what was signed; false when that is known without reading it. */
  readonly mayDiffer: boolean
}

/** The context of an operation. Read-only: no state is passed on through it. */
export interface OperationContext {
  readonly store: Store
  readonly accounts: AccountLookup
  readonly caller: Caller
  /** Canonical id of the caller's account, or the fixed id of anonymous callers. */
  readonly callerId: string
  readonly behavior: DialectBehavior
  /** The region in responses: the signed one where any is accepted, else the configured one. */
  readonly region: string
  readonly anyRegion: boolean
  readonly request: RequestView
  readonly target: ObjectName
  /** The URL of the target, without a query. */
  readonly location: string
  /** The addressed bucket; operations on a bucket that need not exist look it up themselves. */
  readonly bucket: Bucket
  readonly body: IncomingBody
  /** The dialect's code and message, for operations that report a result per key. */
  describeFault(fault: Fault): { readonly code: string; readonly message: string }
  /** Whether the caller may also perform this action on the target, or on an object named in the body. */
  isAllowed(action: Action, on?: ObjectName, conditions?: ConditionValues): Promise<boolean>
  /**
   * Authorizes again with the condition values of the body. Operations with `deferredKeys` call it before any effect.
   */
  authorizeDeferred(conditions: ConditionValues): Promise<void>
  /**
   * R61, R95. An operation calls this before a long read, once every check that needs no data has passed: if the read
   * takes long, the response starts as a success with these headers, and its body carries the result.
   */
  allowEarlyResponse(headers: readonly Header[]): void
  /** Logs damage in the store that does not affect the response. */
  reportDamage(error: Error): void
}
