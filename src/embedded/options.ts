/** What an embedded store can be told at its start. */

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
