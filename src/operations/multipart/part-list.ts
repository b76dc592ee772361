/** The list of parts that completes an upload (R75–R77). */
import { children, childText, onlyChildren, requiredText, rootNamed, type XmlNode } from '../../lib/xml.ts'
import { Fault } from '../../model/faults.ts'
import type { ListedPart } from '../../rules/assembly.ts'
import { CHECKSUM_ALGORITHMS, type ChecksumAlgorithm } from '../../rules/checksum.ts'
import { bareEtag } from '../../rules/conditional-requests.ts'
import { LIMITS } from '../../rules/limits.ts'
import { invalidArgument } from '../operation.ts'
import { readXml } from '../whole-body.ts'

export interface ListedPartChecksum extends ListedPart {
  /** The checksums in its entry, by algorithm. */
  readonly sums: readonly (readonly [ChecksumAlgorithm, string])[]
}

const NAMES = ['PartNumber', 'ETag', 'Size', ...CHECKSUM_ALGORITHMS.map(name => `Checksum${name}`)]

const INTEGER = /^\s*[+-]?\d+\s*$/

/** Any integer parses, however long; numbers that no part can have are refused later. */
function listedNumber(text: string): number {
  if (!INTEGER.test(text)) throw new Fault('MalformedXML')
  const number = Number(text)
  if (number >= 1 && number <= LIMITS.partNumberMax) return number
  throw invalidArgument('PartNumber', text.trim(), `PartNumber must be >= 1 and <= ${LIMITS.partNumberMax}`)
}

function readPart(node: XmlNode): ListedPartChecksum {
  onlyChildren(node, ...NAMES)
  const number = listedNumber(requiredText(node, 'PartNumber'))
  const sums = CHECKSUM_ALGORITHMS.flatMap((algorithm): ListedPartChecksum['sums'] => {
    const value = childText(node, `Checksum${algorithm}`)?.trim()
    return value === undefined || value === '' ? [] : [[algorithm, value]]
  })
  return { number, etag: bareEtag(requiredText(node, 'ETag')), sums }
}

export function readPartList(body: Buffer): readonly ListedPartChecksum[] {
  const none = (): Fault => new Fault('InvalidRequest', { reason: 'You must specify at least one part' })
  if (body.length === 0) throw none()
  return readXml(body, root => {
    onlyChildren(rootNamed(root, 'CompleteMultipartUpload'), 'Part')
    if (root.children.length === 0) throw none()
    return children(root, 'Part').map(readPart)
  })
}
