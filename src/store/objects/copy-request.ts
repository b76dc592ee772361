/** The request and result of a copy. */
import type { Attributes, Lock, Version } from '../../model/version.ts'
import type { ChecksumAlgorithm } from '../../rules/checksum.ts'
import type { Precondition } from '../../rules/conditional-requests.ts'
import type { KeyChoice } from '../keys/content-keys.ts'
import type { VersionSelector } from './versions.ts'

export interface CopyRequest {
  readonly from: VersionSelector
  readonly to: { readonly bucket: string; readonly key: string }
  readonly owner: string
  /** Opens a source that was stored with a customer's key. */
  readonly customerKey?: Buffer
  readonly encryption?: KeyChoice
  /** The copy's attributes, given the source; by default the source's own without grants and redirect. */
  readonly attributes?: (source: Version) => Attributes
  readonly lock?: Lock
  /** Runs inside the transaction and may refuse the source. */
  readonly check?: (source: Version) => void
  readonly precondition?: Precondition
  /** R52. Requests a full-object checksum by this algorithm, whatever the source has. */
  readonly algorithm?: ChecksumAlgorithm
  /** Called before bytes are read, after every check that does not need them. */
  readonly beforeRead?: (source: Version) => void
}

export interface CopyResult {
  readonly source: Version
  readonly version: Version
}
