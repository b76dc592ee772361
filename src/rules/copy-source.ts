/** R43. Parses the copy-source header: `bucket/key`, percent-encoded, with an optional version. */
import { Fault } from '../model/faults.ts'
import { headerName } from './access/names.ts'
import { isBucketName, isKey } from './naming.ts'

export interface CopySource {
  readonly bucket: string
  readonly key: string
  readonly versionId: string | undefined
}

const VERSION = '?versionId='

/** Undefined when the value names no object; the caller decides whether and when to refuse it. */
export function parseCopySource(header: string): CopySource | undefined {
  // A key may contain the same characters, but encoded; only the last unencoded occurrence separates the version.
  const mark = header.lastIndexOf(VERSION)
  const versionId = mark < 0 ? undefined : decoded(header.slice(mark + VERSION.length))
  const path = decoded(mark < 0 ? header : header.slice(0, mark))?.replace(/^\//, '')
  if (path === undefined || (mark >= 0 && (versionId === undefined || versionId === ''))) return undefined
  const slash = path.indexOf('/')
  const key = path.slice(slash + 1)
  return slash > 0 && isKey(key) ? { bucket: path.slice(0, slash), key, versionId } : undefined
}

export function copySourceOf(header: string): CopySource {
  const source = parseCopySource(header)
  if (source !== undefined && isBucketName(source.bucket)) return source
  throw new Fault('InvalidArgument', {
    reason:
      source === undefined
        ? 'Copy Source must mention the source bucket and key: sourcebucket/sourcekey'
        : 'Invalid copy source bucket name',
    ArgumentName: headerName('copy-source'),
    ArgumentValue: header.slice(0, 2048),
  })
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
