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
  /** Value of a header; `:name` for the dialect's. Undefined when it was not sent. */
  header(name: string): string | undefined
  /** Dialect headers that begin so, with the rest of their names in lower case: `:meta-`, `:checksum-`. */
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

/** Where the dialects behave differently on purpose; each row is data of the dialect, in the edge. */
export interface DialectBehavior {
  /** D10. A plain DELETE of a held object is refused; otherwise a marker hides it. */
  readonly keepHeld: boolean
  /** D23. Creating a bucket that one owns already succeeds and changes nothing. */
  readonly recreateOwnBucket: boolean
  /** D2. If-Match on a write without a current object: a missing key, or a failed precondition. */
  readonly missingMatchIsNoSuchKey: boolean
  /** R103, D26. Some documents need no other proof than the signed hash of their body: clients that send none exist. */
  readonly signedHashProves: boolean
  /** D28. Every answer that names a bucket says where it is; otherwise HeadBucket alone does. */
  readonly regionOnAnswers: boolean
  /** R112. What is wrong with a checksum of another algorithm than the one that was announced. */
  readonly otherChecksum: 'InvalidRequest' | 'BadDigest'
  /** D14, D16, D21. How strictly the document of an access list is read. */
  readonly acl: AclDocumentForm
  /** URIs of the grantee groups. */
  readonly groupUris: Readonly<Record<Group, string>>
  /** D7–D9, R108. What locks answer to requests that are not as they should be. */
  readonly locks: LockBehavior
  /** Setting a bucket's tags answers as if there were a body, or says that there is none. */
  readonly bucketTaggingStatus: 200 | 204
  /** The names that documents have for encryption under a named key. */
  readonly encryptionNames: EncryptionNames
  /** D1. Completing an upload with an If-None-Match that hits is "not modified", or a failed precondition. */
  readonly completeNotModified: boolean
  /** D5. A checksum's type that is named only, or differently, at the end of an upload. */
  readonly lateChecksumType: 'BadDigest' | 'InvalidRequest'
  /** D6. What is wrong with a source that is too large to be copied at once. */
  readonly copyTooLarge: 'EntityTooLarge' | 'InvalidRequest'
  /** D13. The canned list `exec-read` may be asked for wherever a list may. */
  readonly execReadEverywhere: boolean
  /** D15. Completing an upload again answers as the first time; otherwise it tells that there is nothing left to do. */
  readonly repeatsCompletion: boolean
  /** D19. What is wrong with an expected owner that is no account at all. */
  readonly noAccountId: 'AccessDenied' | 'InvalidBucketOwnerAWSAccountID'
  /** D25. A write while versioning is suspended answers with the version id `null`; otherwise with none. */
  readonly namesNullVersion: boolean
  /** D22. An upload with checksums is completed with the customer's key that it began with. */
  readonly completionNeedsKey: boolean
}

export interface LockBehavior {
  /** D7. The bucket has no locks. */
  readonly bucketWithout: 'ObjectLockConfigurationNotFoundError' | 'InvalidRequest'
  /** D8. The document of a hold is not one. */
  readonly badHold: 'InvalidRequest' | 'MalformedXML'
  /** D9. A hold is said twice, by a header and by the document, and both must agree. */
  readonly holdInHeader: boolean
  /** R108. A hold without a key. */
  readonly holdWithoutKey: 'InvalidRequest' | 'MethodNotAllowed'
}

/** Accounts by what names them. */
export interface AccountLookup {
  byCanonicalId(id: string): Account | undefined
  byEmail(email: string): readonly Account[]
}

/** The body as the client means it: chunk framing taken off, signature and announced hash checked at its end. */
export interface IncomingBody {
  readonly stream: AsyncIterable<Buffer>
  /** Bytes that were announced; undefined when nothing was. */
  readonly length: number | undefined
  /** Called before so many bytes are kept in memory; a fault where there is no room for them. */
  reserveMemory(bytes: number): void
  /** Trailers, by neutral name (`:checksum-crc32`); complete at the end of the stream. */
  trailers(): ReadonlyMap<string, string>
  /** Trailers that were announced, by neutral name. */
  readonly announced: readonly string[]
  /** The client signed a hash of the whole body, which is compared at its end. */
  readonly hashSigned: boolean
  /** Its bytes may be others than those that were signed; where false, that is settled without reading. */
  readonly mayDiffer: boolean
}

/** The context of an operation. Read only: nothing is passed on by changing it. */
export interface OperationContext {
  readonly store: Store
  readonly accounts: AccountLookup
  readonly caller: Caller
  /** Canonical id of the caller's account, or the fixed one of callers without a name. */
  readonly callerId: string
  readonly behavior: DialectBehavior
  /** As responses name it: the region that was signed for where any is accepted, else the configured one. */
  readonly region: string
  readonly anyRegion: boolean
  readonly request: RequestView
  readonly target: ObjectName
  /** The URL of the target, without a query. */
  readonly location: string
  /** The addressed bucket; operations on a bucket that need not exist look it up themselves. */
  readonly bucket: Bucket
  readonly body: IncomingBody
  /** A fault in the dialect, for operations that answer for many keys at once. */
  describeFault(fault: Fault): { readonly code: string; readonly message: string }
  /** Whether the caller may also do this to what the request addresses, or to an object that its body names. */
  isAllowed(action: Action, on?: ObjectName, conditions?: ConditionValues): Promise<boolean>
  /**
   * Authorizes again with the condition values of the body. Called before any effect by operations with `deferredKeys`.
   */
  authorizeDeferred(conditions: ConditionValues): Promise<void>
  /**
   * R61, R95. Called by an operation that is about to read data at length, when nothing is left that could be refused
   * without reading: if that takes long, the response begins as a success with these headers, and the result follows in
   * its body.
   */
  allowEarlyResponse(headers: readonly Header[]): void
  /** Logs damage in the store that the response does not depend on. */
  reportDamage(error: Error): void
}
