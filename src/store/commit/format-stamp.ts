/**
 * The format of everything in a data folder, as one number. It grows when a version of the program begins to write
 * something its predecessor cannot read. The encoding of the stamp itself never changes.
 */
import { format, type RecordFormat, struct, text, uint } from '../../lib/codec.ts'

/**
 * 1: 0.1.0. 2: 0.1.1, which writes `V2` records. 3: 0.2.0, which introduces the stamp. Folders of 1 and 2 have no
 * stamp.
 */
export const FORMAT = 3
/** The oldest format that this program can read and upgrade in place. */
export const READS_FROM = 1

export interface FormatStamp {
  readonly format: number
  /** The version that upgraded the folder to this format, which is the oldest one that can read it. */
  readonly writtenBy: string
}

export const formatStamp: RecordFormat<FormatStamp> = format(
  'T1',
  struct<FormatStamp>({ format: uint, writtenBy: text }),
)
