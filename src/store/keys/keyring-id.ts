/** Which keyring a store belongs to: what that sealed, no other can open. */
import { bytes, format } from '../../lib/codec.ts'
import { key } from '../../lib/keys.ts'

export const KEYRING_KEY = key('x', 'keyring')
export const keyringIdFormat = format<Buffer>('K1', bytes)
