/** Identifies the keyring a store belongs to: no other keyring can open what it sealed. */
import { bytes, format } from '../../lib/codec.ts'
import { key } from '../../lib/keys.ts'

export const KEYRING_KEY = key('x', 'keyring')
export const keyringIdFormat = format<Buffer>('K1', bytes)
