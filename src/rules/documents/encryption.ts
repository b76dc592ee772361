/** Default encryption of a bucket. Algorithms are stored by their neutral names; both dialects' names are accepted. */
import { BadXml, child, childFlag, children, childText, onlyChildren, rootNamed, type XmlNode } from '../../lib/xml.ts'
import type { XmlDocument } from '../../lib/xml-writer.ts'
import { Fault } from '../../model/faults.ts'

export interface BucketEncryption {
  /** Undefined: objects are encrypted only when the request asks for it. */
  readonly algorithm: 'AES256' | 'verenc' | undefined
  /** The client asked for `aws:kms:dsse`. Kept only to be shown again, since all data are encrypted twice anyway. */
  readonly isDouble: boolean
  readonly keyId: string | undefined
  readonly bucketKey: boolean | undefined
  /** R68. Refuses objects with customer-provided keys. */
  readonly blocksCustomerKeys: boolean
}

export const KEY_ID_CHARACTERS_MAX = 2048

const ALGORITHMS: ReadonlyMap<string, Pick<BucketEncryption, 'algorithm' | 'isDouble'>> = new Map([
  ['AES256', { algorithm: 'AES256', isDouble: false }],
  ['verenc', { algorithm: 'verenc', isDouble: false }],
  ['aws:kms', { algorithm: 'verenc', isDouble: false }],
  ['aws:kms:dsse', { algorithm: 'verenc', isDouble: true }],
] as const)

export function readBucketEncryption(root: XmlNode): BucketEncryption {
  onlyChildren(rootNamed(root, 'ServerSideEncryptionConfiguration'), 'Rule')
  const [rule, another] = children(root, 'Rule')
  if (rule === undefined || another !== undefined) throw new BadXml('the document must have exactly one Rule')
  onlyChildren(rule, 'ApplyServerSideEncryptionByDefault', 'BucketKeyEnabled', 'BlockedEncryptionTypes')
  const byDefault = child(rule, 'ApplyServerSideEncryptionByDefault')
  const blocked = child(rule, 'BlockedEncryptionTypes')
  if (byDefault === undefined && blocked === undefined)
    throw new BadXml('the rule must have ApplyServerSideEncryptionByDefault or BlockedEncryptionTypes')
  return {
    ...(byDefault === undefined ? NO_DEFAULT : readDefault(byDefault)),
    bucketKey: childFlag(rule, 'BucketKeyEnabled'),
    blocksCustomerKeys: blocked !== undefined && readBlocked(blocked),
  }
}

const NO_DEFAULT = { algorithm: undefined, isDouble: false, keyId: undefined } as const

function readDefault(node: XmlNode): Pick<BucketEncryption, 'algorithm' | 'isDouble' | 'keyId'> {
  onlyChildren(node, 'SSEAlgorithm', 'KMSMasterKeyID')
  const found = ALGORITHMS.get(childText(node, 'SSEAlgorithm')?.trim() ?? '')
  if (found === undefined) throw new BadXml('SSEAlgorithm is not a supported algorithm')
  const keyId = childText(node, 'KMSMasterKeyID')
  if (keyId === undefined) return { ...found, keyId }
  const reason =
    found.algorithm === 'AES256'
      ? 'a KMSMasterKeyID is not applicable if the default sse algorithm is not verenc or aws:kms'
      : `The KMSMasterKeyID must have 1 to ${KEY_ID_CHARACTERS_MAX} characters`
  if (found.algorithm === 'AES256' || keyId === '' || keyId.length > KEY_ID_CHARACTERS_MAX) {
    throw new Fault('InvalidArgument', { reason, ArgumentName: 'KMSMasterKeyID', ArgumentValue: keyId.slice(0, 100) })
  }
  return { ...found, keyId }
}

/** A document that is about to be stored. Names stored earlier may have any characters. */
export function readNewBucketEncryption(root: XmlNode): BucketEncryption {
  const encryption = readBucketEncryption(root)
  const { keyId } = encryption
  if (keyId === undefined || fitsHeader(keyId)) return encryption
  const reason = 'The KMSMasterKeyID must not have control characters'
  throw new Fault('InvalidArgument', { reason, ArgumentName: 'KMSMasterKeyID' })
}

/** Responses carry the name of a key in a header. */
export const fitsHeader = (keyId: string): boolean => /^[\t\x20-\x7e\x80-\u{10ffff}]*$/u.test(keyId)

function readBlocked(node: XmlNode): boolean {
  onlyChildren(node, 'EncryptionType')
  const types = children(node, 'EncryptionType').map(type => type.text.trim())
  if (types.length === 0 || types.some(type => type !== 'NONE' && type !== 'SSE-C'))
    throw new BadXml('EncryptionType must be NONE or SSE-C')
  return types.includes('SSE-C')
}

/** A dialect's names for the algorithm with named keys, and for its double form. */
export interface EncryptionNames {
  readonly named: string
  readonly double: string
}

/** The stored names, from which both forms can be told apart again. */
const STORED_NAMES: EncryptionNames = { named: 'verenc', double: 'aws:kms:dsse' }

export function encryptionDocument(encryption: BucketEncryption, names: EncryptionNames = STORED_NAMES): XmlDocument {
  const { algorithm, isDouble, keyId, bucketKey, blocksCustomerKeys } = encryption
  return {
    root: 'ServerSideEncryptionConfiguration',
    write(to) {
      to.open('Rule')
      if (algorithm !== undefined) {
        to.open('ApplyServerSideEncryptionByDefault')
        to.leaf('SSEAlgorithm', algorithm === 'AES256' ? algorithm : isDouble ? names.double : names.named)
        to.leaf('KMSMasterKeyID', keyId)
        to.close()
      }
      to.leaf('BucketKeyEnabled', bucketKey)
      if (blocksCustomerKeys) to.open('BlockedEncryptionTypes').leaf('EncryptionType', 'SSE-C').close()
      to.close()
    },
  }
}
