/**
 * The public types of the embedded store. They depend on no other types, so that a reader needs none.
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

/** Named as in the AWS SDKs. */
export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

export interface HoldfastOptions {
  /** Data folder; everything is kept in memory if omitted. */
  readonly folder?: string
  /** `fsync` acknowledges writes only once they are on stable storage. Tests rarely need it: `os` if omitted. */
  readonly durability?: 'fsync' | 'os'
  /** Buckets to create, owned by the root account. */
  readonly buckets?: readonly (string | { readonly name: string; readonly objectLock?: boolean })[]
  /** Accounts to create besides the root account. */
  readonly accounts?: readonly AccountOption[]
  /** The root account's access key; generated if omitted. */
  readonly credentials?: Credentials
  readonly region?: string
  /** Buckets are also served at `<bucket>.<baseHost>`. */
  readonly baseHost?: string
  /** A free port if omitted. */
  readonly port?: number
  /** Receives a log entry for every request and error. If omitted, unexpected errors go to standard error. */
  readonly log?: (line: Readonly<Record<string, unknown>>) => void
}

/** For the constructor of an AWS SDK's S3 client. */
export interface S3ClientOptions {
  readonly endpoint: string
  readonly region: string
  readonly credentials: Credentials
  readonly forcePathStyle: true
}

/** A duration: the sum of its fields. */
export interface Span {
  readonly days?: number
  readonly hours?: number
  readonly minutes?: number
  readonly seconds?: number
  readonly milliseconds?: number
}

export interface HoldfastClock {
  /** The store's current time. */
  now(): Date
  /** Moves the clock forward. */
  advance(span: Span): void
  /** Sets the clock; time continues from there. */
  set(moment: Date | string | number): void
  /** Back to the real time. */
  reset(): void
}

/** A string must be equal, a regular expression must match. An omitted field matches every request. */
export interface FaultMatch {
  /** For example `PutObject`. */
  readonly operation?: string
  /** For example `PUT`. */
  readonly method?: string
  readonly bucket?: string | RegExp
  readonly key?: string | RegExp
}

export type FaultEffect =
  /** 503 `SlowDown`; the request is not executed. */
  | 'slow-down'
  /** 500 `InternalError`; the request is not executed. */
  | 'internal-error'
  /** The disk is full for this request: 507. */
  | 'disk-full'
  /** The request is executed, then the connection is closed without a response. */
  | 'lost-answer'
  /** The request is executed after this many milliseconds. */
  | { readonly delay: number }
  /** The connection is closed after this many bytes of the request body, or of the response body if there is none. */
  | { readonly cutAfter: number }

export interface FaultRule {
  /** Every request if omitted. */
  readonly match?: FaultMatch
  /** Number of requests to affect; unlimited if omitted. */
  readonly times?: number
  readonly fault: FaultEffect
}

export interface InjectedFault {
  /** Number of requests affected so far. */
  readonly hits: number
  remove(): void
}

export interface HoldfastFaults {
  /** If several rules match a request, the one added first applies. */
  add(rule: FaultRule): InjectedFault
  /** Removes all rules; delayed requests continue. */
  clear(): void
}

/** The result of one lifecycle run. */
export interface LifecycleRound {
  /** Versions, and delete markers that hid nothing. */
  readonly removed: number
  /** Objects that got a delete marker. */
  readonly marked: number
  /** Uploads. */
  readonly aborted: number
  /** Versions that are due, but locked. */
  readonly locked: number
}
