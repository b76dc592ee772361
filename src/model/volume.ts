import { flag, format, struct, uint } from '../lib/codec.ts'

/** What upkeep knows about a volume that nobody appends to any more. */
export interface VolumeRecord {
  /** False while its records are being counted; what dies meanwhile is added all the same. */
  readonly measured: boolean
  /** Stored payload bytes in it, live or not. */
  readonly bytes: number
  /** Of those, bytes that nothing points at. */
  readonly dead: number
  /** A live record in it does not match its checksum: the file stays for whoever repairs it. */
  readonly damaged: boolean
  /** Everything live has moved elsewhere; the file goes when the last reader has left. */
  readonly emptied: boolean
}

export const volumeFormat = format<VolumeRecord>(
  'Y1',
  struct<VolumeRecord>({ measured: flag, bytes: uint, dead: uint, damaged: flag, emptied: flag }),
)
