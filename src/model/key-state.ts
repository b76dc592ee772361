import { bytes, format, optional, struct, text, uint, word } from '../lib/codec.ts'

/**
 * The state of a named key. `closing`: a scan for locked versions that need the key is running before it is disabled. A
 * key without a record is open.
 */
export type KeyState = 'open' | 'closing' | 'disabled'

export const keyStateFormat = format<KeyState>('F1', word('open', 'closing', 'disabled'))

/** A key version that a recorded rotation is to create. */
export interface PendingRotation {
  readonly of: 'service' | 'storage' | 'named'
  readonly keyName: string | undefined
  readonly version: number
}

export const pendingRotationFormat = format<PendingRotation>(
  'F2',
  struct<PendingRotation>({ of: word('service', 'storage', 'named'), keyName: optional(text), version: uint }),
)

/** Progress of the scan for locked versions that need a key. */
interface KeyUseScanProgress {
  /** Stamp of the key's state: another stamp means that the key was reopened and new locks may exist. */
  readonly stamp: number
  /** The first record key not scanned yet. */
  readonly from: Buffer
}

export const keyUseScanFormat = format<KeyUseScanProgress>(
  'F3',
  struct<KeyUseScanProgress>({ stamp: uint, from: bytes }),
)
