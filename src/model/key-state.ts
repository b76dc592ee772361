import { bytes, format, optional, struct, text, uint, word } from '../lib/codec.ts'

/**
 * What may be done under a named key. Closing: somebody is about to disable it and looks whether a locked version needs
 * it. A key without a record is open.
 */
export type KeyState = 'open' | 'closing' | 'disabled'

export const keyStateFormat = format<KeyState>('F1', word('open', 'closing', 'disabled'))

/** A version that a key of the keyring is to have. */
export interface NextVersion {
  readonly of: 'service' | 'storage' | 'named'
  readonly keyName: string | undefined
  readonly version: number
}

export const nextVersionFormat = format<NextVersion>(
  'F2',
  struct<NextVersion>({ of: word('service', 'storage', 'named'), keyName: optional(text), version: uint }),
)

/** How far somebody has got who looks whether a locked version needs a key. */
export interface LookProgress {
  /** Of the key's state: another one means that the key was opened since, and there may be new locks. */
  readonly stamp: number
  /** The first address that was not looked at. */
  readonly from: Buffer
}

export const keyUseScanFormat = format<LookProgress>('F3', struct<LookProgress>({ stamp: uint, from: bytes }))
