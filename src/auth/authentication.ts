/** Input and result of authentication, common to all signature versions. */
import type { Caller } from '../model/caller.ts'
import type { CredentialLookup, PayloadRule } from './parsed-signature.ts'
import type { Scheme } from './signing.ts'

export interface Authentication extends CredentialLookup {
  readonly scheme: Scheme
  readonly region: string
  /** D28. Signatures for any region are accepted. */
  readonly anyRegion?: boolean
  /** D31. Presigned URLs and forms of Signature Version 2 are accepted. */
  readonly sigV2?: boolean
  /** Version 2 signs this before the path: `/bucket` for virtual-host addressing, otherwise nothing. */
  readonly hostBucket?: string
  /** Milliseconds since 1970. */
  readonly now: number
  /**
   * Other times that clients may take for now. A signature with such a time is fresh; expiry is checked against `now`.
   */
  readonly clientTimes?: readonly number[]
}

export interface Authenticated {
  readonly caller: Caller
  readonly payload: PayloadRule
  /** The region of the signature; the server's own for requests without one. */
  readonly region: string
  /** Undefined for a request without a signature. */
  readonly signatureVersion: SignatureVersion | undefined
}

/** The neutral names that policies use. */
export type SignatureVersion = 'SVC4-HMAC-SHA256' | 'AWS'
