/** Byte ranges of reads and of part copies. */
import { Fault } from '../model/faults.ts'
import { headerName } from './access/names.ts'

/** Bytes from `start` to `end`, exclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

const SINGLE = /^bytes=(\d*)-(\d*)$/i
const COPY = /^bytes=(\d+)-(\d+)$/

/** Accepts digits of any length: positions beyond the exact integers are past the end of any object. */
const position = (digits: string): number => Math.min(Number(digits), Number.MAX_SAFE_INTEGER)

/**
 * G11. The Range header of a read. Undefined means the whole object: malformed, reversed and multiple ranges are
 * ignored, and as in S3 so is a suffix range of an empty object, since Parquet readers request the tail before they
 * know the size. A range that starts past the end, or a suffix of 0 bytes, is refused.
 */
export function requestedRange(header: string, size: number): ByteRange | undefined {
  const match = SINGLE.exec(header.trim())
  if (match === null) return undefined
  const [, first, last] = match as unknown as [string, string, string]
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = position(last)
    if (length === 0) throw unsatisfiable(header, size)
    return size === 0 ? undefined : { start: Math.max(0, size - length), end: size }
  }
  const start = position(first)
  if (last !== '' && position(last) < start) return undefined
  if (start >= size) throw unsatisfiable(header, size)
  return { start, end: last === '' ? size : Math.min(position(last) + 1, size) }
}

const unsatisfiable = (header: string, size: number): Fault =>
  new Fault('InvalidRange', { RangeRequested: header, ActualObjectSize: size })

/** R73. The range of a part copy: both ends are required and must be within the source. */
export function copyRange(header: string): (size: number) => ByteRange {
  const invalid = (reason: string): Fault =>
    new Fault('InvalidArgument', { ArgumentName: headerName('copy-source-range'), ArgumentValue: header, reason })
  const match = COPY.exec(header.trim())
  const start = match === null ? 0 : position(match[1]!)
  const last = match === null ? -1 : position(match[2]!)
  if (last < start) {
    throw invalid('The range must be of the form bytes=first-last where first and last are the zero-based offsets.')
  }
  return size => {
    if (start >= size) {
      throw new Fault('InvalidRequest', { reason: 'The specified copy range is invalid for the source.' })
    }
    if (last >= size) throw invalid(`Range specified is not valid for source object of size: ${size}`)
    return { start, end: last + 1 }
  }
}

/** The Content-Range of a partial response. */
export const contentRange = ({ start, end }: ByteRange, size: number): string => `bytes ${start}-${end - 1}/${size}`
