/** Records about the servers that use a store, which concern neither a copy of it nor another engine. */
import { startsWith } from '../../lib/bytes.ts'
import { bytes, format } from '../../lib/codec.ts'
import { ENGINE_KEYS } from '../../meta/meta.ts'
import { keyRanges, recordKey } from './record-keys.ts'

const OWNER = recordKey.owner()
const INCOMING = recordKey.incoming()
const PREFIXES = [ENGINE_KEYS, keyRanges.fences().start, keyRanges.cluster().start, keyRanges.sealed().start]

export const isServerRecord = (key: Buffer): boolean =>
  key.equals(OWNER) || key.equals(INCOMING) || PREFIXES.some(prefix => startsWith(key, prefix))

/**
 * Exists in a database that receives the records of a store, until it has all of them. Has what names the command that
 * brings them: the id of the keyring for a move, the text of `restoring` for a restore.
 */
export const incomingFormat = format<Buffer>('BI', bytes)
