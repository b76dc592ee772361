/**
 * Everything that a program sees of an embedded store, beside the store itself. It stands apart from what is behind it:
 * whoever reads these types needs no others.
 */

/** The same as an entry of the accounts file. */
export interface AccountOption {
  readonly accountId: string
  readonly displayName?: string
  readonly email?: string
  readonly canonicalId?: string
  readonly admin?: boolean
  readonly accessKeys?: readonly KeyOption[]
  readonly users?: readonly UserOption[]
}

export interface UserOption {
  readonly name: string
  readonly accessKeys?: readonly KeyOption[]
  /** Policy documents. */
  readonly policies?: readonly object[]
}

export interface KeyOption {
  readonly accessKey: string
  readonly secretKey: string
}

/** As AWS SDKs name the two. */
export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface HoldfastOptions {
  /** Where everything is kept; in memory without. */
  readonly folder?: string
  /** `fsync`: nothing is acknowledged before it is on stable storage. A test can do without: `os`, unless told. */
  readonly durability?: 'fsync' | 'os'
  /** Buckets to have, of the root account. */
  readonly buckets?: readonly (string | { readonly name: string; readonly objectLock?: boolean })[]
  /** Accounts to have, beside the root account. */
  readonly accounts?: readonly AccountOption[]
  /** The root account's; made up without. */
  readonly credentials?: Credentials
  readonly region?: string
  /** Buckets also answer at `<bucket>.<baseHost>`. */
  readonly baseHost?: string
  /** A free one without. */
  readonly port?: number
  /** Told of every request and every error. Without it, unexpected errors go to standard error. */
  readonly log?: (line: Readonly<Record<string, unknown>>) => void
}

/** For the constructor of an AWS SDK's S3 client. */
export interface S3ClientOptions {
  readonly endpoint: string
  readonly region: string
  readonly credentials: Credentials
  readonly forcePathStyle: true
}

/** How long; what is given is added up. */
export interface Span {
  readonly days?: number
  readonly hours?: number
  readonly minutes?: number
  readonly seconds?: number
  readonly milliseconds?: number
}

export interface HoldfastClock {
  /** What the store takes for now. */
  now(): Date
  /** Lets so much time pass. */
  advance(span: Span): void
  /** From now on it is this moment, and time goes on from there. */
  set(moment: Date | string | number): void
  /** Back to the real time. */
  reset(): void
}

/** A text must be equal, a pattern must be found. What is left out matches everything. */
export interface FaultMatch {
  /** As `PutObject`. */
  readonly operation?: string
  /** As `PUT`. */
  readonly method?: string
  readonly bucket?: string | RegExp
  readonly key?: string | RegExp
}

export type FaultEffect =
  /** 503 `SlowDown`, and nothing is done. */
  | 'slow-down'
  /** 500 `InternalError`, and nothing is done. */
  | 'internal-error'
  /** The disk has no room for what this request would write: 507. */
  | 'disk-full'
  /** It is done, and the connection ends instead of an answer. */
  | 'lost-answer'
  /** It is done so many milliseconds later. */
  | { readonly delay: number }
  /** The connection ends after so many bytes: of the body that the client sends, else of the one that it gets. */
  | { readonly cutAfter: number }

export interface FaultRule {
  /** Every request, when left out. */
  readonly match?: FaultMatch
  /** So many requests, then no more. */
  readonly times?: number
  readonly fault: FaultEffect
}

export interface InjectedFault {
  /** Requests that it has met so far. */
  readonly hits: number
  remove(): void
}

export interface HoldfastFaults {
  /** Of several that match a request, the one that was added first takes it. */
  add(rule: FaultRule): InjectedFault
  /** Removes all of them; what a delay holds back goes on. */
  clear(): void
}

/** What one round of lifecycle rules has done. */
export interface LifecycleRound {
  /** Versions, and markers that hid nothing. */
  readonly removed: number
  /** Objects that got a delete marker. */
  readonly marked: number
  /** Uploads. */
  readonly aborted: number
  /** Versions that are due, but locked. */
  readonly locked: number
}
