/** The small configurations that are part of a bucket's record: one parser and one writer each. */
import {
  BadXml,
  child,
  childFlag,
  childInteger,
  children,
  childWord,
  onlyChildren,
  requiredChild,
  rootNamed,
  type XmlNode,
} from '../../lib/xml.ts'
import type { XmlDocument } from '../../lib/xml-writer.ts'
import type { Bucket, DefaultRetention, Ownership, PublicAccessBlock, Versioning } from '../../model/bucket.ts'
import { Fault, notImplemented } from '../../model/faults.ts'

export function readVersioning(root: XmlNode): Exclude<Versioning, 'off'> {
  onlyChildren(rootNamed(root, 'VersioningConfiguration'), 'Status', 'MfaDelete')
  const mfa = childWord(root, 'MfaDelete', ['Enabled', 'Disabled'])
  const status = childWord(root, 'Status', ['Enabled', 'Suspended'])
  if (status === undefined) throw new Fault('IllegalVersioningConfigurationException')
  if (mfa === 'Enabled') throw notImplemented('element', 'MfaDelete')
  return status === 'Enabled' ? 'on' : 'suspended'
}

export const versioningDocument = ({ versioning }: Pick<Bucket, 'versioning'>): XmlDocument => ({
  root: 'VersioningConfiguration',
  write(to) {
    if (versioning !== 'off') to.leaf('Status', versioning === 'on' ? 'Enabled' : 'Suspended')
  },
})

export function readRequesterPays(root: XmlNode): boolean {
  onlyChildren(rootNamed(root, 'RequestPaymentConfiguration'), 'Payer')
  const payer = childWord(root, 'Payer', ['BucketOwner', 'Requester'])
  if (payer === undefined) throw new BadXml('RequestPaymentConfiguration has no Payer')
  return payer === 'Requester'
}

export const requestPaymentDocument = (requesterPays: boolean): XmlDocument => ({
  root: 'RequestPaymentConfiguration',
  write: to => void to.leaf('Payer', requesterPays ? 'Requester' : 'BucketOwner'),
})

/** Elements of a public access block, in the order of the response. */
const BLOCKS = [
  ['BlockPublicAcls', 'blockPublicAcls'],
  ['IgnorePublicAcls', 'ignorePublicAcls'],
  ['BlockPublicPolicy', 'blockPublicPolicy'],
  ['RestrictPublicBuckets', 'restrictPublicBuckets'],
] as const satisfies readonly (readonly [string, keyof PublicAccessBlock])[]

export function readPublicAccessBlock(root: XmlNode): PublicAccessBlock {
  onlyChildren(rootNamed(root, 'PublicAccessBlockConfiguration'), ...BLOCKS.map(([element]) => element))
  if (root.children.length === 0) {
    throw new Fault('InvalidRequest', { reason: 'Must specify at least one configuration.' })
  }
  return {
    blockPublicAcls: childFlag(root, 'BlockPublicAcls') ?? false,
    ignorePublicAcls: childFlag(root, 'IgnorePublicAcls') ?? false,
    blockPublicPolicy: childFlag(root, 'BlockPublicPolicy') ?? false,
    restrictPublicBuckets: childFlag(root, 'RestrictPublicBuckets') ?? false,
  }
}

export const publicAccessBlockDocument = (block: PublicAccessBlock): XmlDocument => ({
  root: 'PublicAccessBlockConfiguration',
  write(to) {
    for (const [element, field] of BLOCKS) to.leaf(element, block[field])
  },
})

export const OWNERSHIPS: readonly Ownership[] = ['BucketOwnerPreferred', 'ObjectWriter', 'BucketOwnerEnforced']

export function readOwnership(root: XmlNode): Ownership {
  onlyChildren(rootNamed(root, 'OwnershipControls'), 'Rule')
  const [rule, another] = children(root, 'Rule')
  if (rule === undefined || another !== undefined) throw new BadXml('OwnershipControls must have exactly one Rule')
  onlyChildren(rule, 'ObjectOwnership')
  const ownership = childWord(rule, 'ObjectOwnership', OWNERSHIPS)
  if (ownership === undefined) throw new BadXml('the rule has no ObjectOwnership')
  return ownership
}

export const ownershipDocument = (ownership: Ownership): XmlDocument => ({
  root: 'OwnershipControls',
  write: to => void to.open('Rule').leaf('ObjectOwnership', ownership).close(),
})

const RETENTION_DAYS_MAX = 36_500
const RETENTION_YEARS_MAX = 100
const DAYS_PER_YEAR = 365

/** G19. Undefined when object lock is enabled without a default retention. */
export function readLockConfiguration(root: XmlNode): DefaultRetention | undefined {
  onlyChildren(rootNamed(root, 'ObjectLockConfiguration'), 'ObjectLockEnabled', 'Rule')
  if (childWord(root, 'ObjectLockEnabled', ['Enabled']) === undefined) throw new BadXml('ObjectLockEnabled is missing')
  const rule = child(root, 'Rule')
  if (rule === undefined) return undefined
  onlyChildren(rule, 'DefaultRetention')
  const retention = requiredChild(rule, 'DefaultRetention')
  onlyChildren(retention, 'Mode', 'Days', 'Years')
  const mode = childWord(retention, 'Mode', ['GOVERNANCE', 'COMPLIANCE'])
  const days = childInteger(retention, 'Days')
  const years = childInteger(retention, 'Years')
  if (mode === undefined) throw new BadXml('DefaultRetention has no Mode')
  if ((days === undefined) === (years === undefined))
    throw new BadXml('DefaultRetention must have either Days or Years')
  checkPeriod(days, RETENTION_DAYS_MAX)
  checkPeriod(years, RETENTION_YEARS_MAX)
  const word = mode === 'GOVERNANCE' ? 'governance' : 'compliance'
  return days === undefined ? { mode: word, days: years! * DAYS_PER_YEAR, inYears: true } : { mode: word, days }
}

/** P25. A default lasts a day at least and a hundred years at most. */
function checkPeriod(period: number | undefined, max: number): void {
  if (period !== undefined && (period < 1 || period > max)) throw new Fault('InvalidRetentionPeriod')
}

export const lockDocument = (retention: DefaultRetention | undefined): XmlDocument => ({
  root: 'ObjectLockConfiguration',
  write(to) {
    to.leaf('ObjectLockEnabled', 'Enabled')
    if (retention === undefined) return
    to.open('Rule').open('DefaultRetention')
    to.leaf('Mode', retention.mode.toUpperCase())
    if (retention.inYears === true) to.leaf('Years', retention.days / DAYS_PER_YEAR)
    else to.leaf('Days', retention.days)
    to.close().close()
  },
})
