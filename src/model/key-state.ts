import { format, word } from '../lib/codec.ts'

/**
 * What may be done under a named key. Closing: somebody is about to disable it and looks whether a locked version needs
 * it. A key without a record is open.
 */
export type KeyState = 'open' | 'closing' | 'disabled'

export const keyStateFormat = format<KeyState>('F1', word('open', 'closing', 'disabled'))
