/**
 * The format of everything in a data folder, as one number. It grows when a version of the program begins to write
 * something that the version before it cannot read. How a stamp itself is written never changes.
 */
import { format, type RecordFormat, struct, text, uint } from '../../lib/codec.ts'

/** 1: 0.1.0. 2: 0.1.1, which writes `V2` records. 3: 0.2.0, which stamps. Folders of 1 and 2 have no stamp. */
export const FORMAT = 3
/** The oldest format that this program reads, and upgrades in place. */
export const READS_FROM = 1

export interface FormatStamp {
  readonly format: number
  /** The version that brought the folder to this format: the oldest one that can read it. */
  readonly writtenBy: string
}

export const formatStamp: RecordFormat<FormatStamp> = format(
  'T1',
  struct<FormatStamp>({ format: uint, writtenBy: text }),
)
