/** What a copy is asked for with, and what comes of it. */
import type { Attributes, Lock, Version } from '../../model/version.ts'
import type { ChecksumAlgorithm } from '../../rules/checksum.ts'
import type { Precondition } from '../../rules/precondition.ts'
import type { KeyChoice } from '../keys/content-keys.ts'
import type { VersionSelector } from './find-version.ts'

export interface CopyRequest {
  readonly from: VersionSelector
  readonly to: { readonly bucket: string; readonly key: string }
  readonly owner: string
  /** Opens a source that was stored with a customer's key. */
  readonly customerKey?: Buffer
  readonly encryption?: KeyChoice
  /** The copy's attributes, given the source's; the source's own by default, without its grants and redirect. */
  readonly attributes?: (source: Version) => Attributes
  readonly lock?: Lock
  /** Looks at the source inside the commit and may refuse it. */
  readonly check?: (source: Version) => void
  readonly condition?: Precondition
  /** R52. Asks for a checksum of the whole by this algorithm, whatever the source has. */
  readonly algorithm?: ChecksumAlgorithm
  /** Called before bytes are read: by then everything that can be refused without has been looked at. */
  readonly beforeRead?: (source: Version) => void
}

export interface CopyResult {
  readonly source: Version
  readonly version: Version
}
