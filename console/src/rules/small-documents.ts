/** The documents whose form shows all of it at once: website, encryption, logging, Object Lock and tags. */
import { ElementReader, type FormReading, reading } from './element-reader.ts'
import { readTagElements, type TagPairs, tagElements } from './lifecycle-document.ts'
import { element, leaf, type XmlElement } from './xml-text.ts'

const given = (name: string, text: string): XmlElement[] => (text === '' ? [] : [leaf(name, text)])
const NOTHING = element('')

export interface WebsiteFields {
  readonly kind: 'pages' | 'redirect'
  readonly index: string
  readonly error: string
  readonly hostName: string
  readonly protocol: '' | 'http' | 'https'
  /** Kept as they are: only the document shows them. */
  readonly routing: readonly XmlElement[]
}

export const NEW_WEBSITE: WebsiteFields = {
  kind: 'pages',
  index: 'index.html',
  error: '',
  hostName: '',
  protocol: '',
  routing: [],
}

export const readWebsite = (root: XmlElement): FormReading<WebsiteFields> =>
  reading(unknown => {
    const known = ['IndexDocument', 'ErrorDocument', 'RedirectAllRequestsTo', 'RoutingRules']
    const reader = new ElementReader(root, unknown, known)
    const redirect = reader.one('RedirectAllRequestsTo')
    const target = new ElementReader(redirect ?? NOTHING, unknown, ['HostName', 'Protocol'])
    const routing = new ElementReader(reader.one('RoutingRules') ?? NOTHING, unknown, ['RoutingRule'])
    if (redirect !== undefined && root.children.length > 1) unknown.add('RedirectAllRequestsTo')
    return {
      kind: redirect === undefined ? 'pages' : 'redirect',
      index: new ElementReader(reader.one('IndexDocument') ?? NOTHING, unknown, ['Suffix']).text('Suffix'),
      error: new ElementReader(reader.one('ErrorDocument') ?? NOTHING, unknown, ['Key']).text('Key'),
      hostName: target.text('HostName'),
      protocol: target.word('Protocol', ['http', 'https']) ?? '',
      routing: routing.all('RoutingRule'),
    }
  })

export function websiteElement({ kind, index, error, hostName, protocol, routing }: WebsiteFields): XmlElement {
  const root = 'WebsiteConfiguration'
  if (kind === 'redirect') {
    return element(root, element('RedirectAllRequestsTo', leaf('HostName', hostName), ...given('Protocol', protocol)))
  }
  return element(
    root,
    element('IndexDocument', leaf('Suffix', index)),
    ...(error === '' ? [] : [element('ErrorDocument', leaf('Key', error))]),
    ...(routing.length === 0 ? [] : [element('RoutingRules', ...routing)]),
  )
}

const ENCRYPTION_ALGORITHMS = ['AES256', 'aws:kms', 'aws:kms:dsse'] as const

export interface EncryptionFields {
  /** Empty: objects are encrypted only when a request asks for it. */
  readonly algorithm: '' | (typeof ENCRYPTION_ALGORITHMS)[number]
  readonly keyId: string
  readonly bucketKey: '' | 'true' | 'false'
  readonly blocksCustomerKeys: boolean
}

export const NEW_ENCRYPTION: EncryptionFields = {
  algorithm: 'AES256',
  keyId: '',
  bucketKey: '',
  blocksCustomerKeys: false,
}

export const readEncryption = (root: XmlElement): FormReading<EncryptionFields> =>
  reading(unknown => {
    const outer = new ElementReader(root, unknown, ['Rule'])
    const known = ['ApplyServerSideEncryptionByDefault', 'BucketKeyEnabled', 'BlockedEncryptionTypes']
    const rule = new ElementReader(outer.one('Rule') ?? NOTHING, unknown, known)
    const defaults = new ElementReader(rule.one('ApplyServerSideEncryptionByDefault') ?? NOTHING, unknown, [
      'SSEAlgorithm',
      'KMSMasterKeyID',
    ])
    const blocked = new ElementReader(rule.one('BlockedEncryptionTypes') ?? NOTHING, unknown, ['EncryptionType'])
    return {
      algorithm: defaults.word('SSEAlgorithm', ENCRYPTION_ALGORITHMS) ?? '',
      keyId: defaults.text('KMSMasterKeyID'),
      bucketKey: rule.word('BucketKeyEnabled', ['true', 'false']) ?? '',
      blocksCustomerKeys: blocked.word('EncryptionType', ['SSE-C', 'NONE']) === 'SSE-C',
    }
  })

export function encryptionElement({ algorithm, keyId, bucketKey, blocksCustomerKeys }: EncryptionFields): XmlElement {
  const key = algorithm === 'AES256' ? [] : given('KMSMasterKeyID', keyId)
  const defaults = element('ApplyServerSideEncryptionByDefault', leaf('SSEAlgorithm', algorithm), ...key)
  return element(
    'ServerSideEncryptionConfiguration',
    element(
      'Rule',
      ...(algorithm === '' ? [] : [defaults]),
      ...given('BucketKeyEnabled', bucketKey),
      ...(blocksCustomerKeys ? [element('BlockedEncryptionTypes', leaf('EncryptionType', 'SSE-C'))] : []),
    ),
  )
}

export interface LoggingFields {
  readonly target: string
  readonly prefix: string
}

export const readLogging = (root: XmlElement): FormReading<LoggingFields> =>
  reading(unknown => {
    const outer = new ElementReader(root, unknown, ['LoggingEnabled'])
    const enabled = new ElementReader(outer.one('LoggingEnabled') ?? NOTHING, unknown, ['TargetBucket', 'TargetPrefix'])
    return { target: enabled.text('TargetBucket'), prefix: enabled.text('TargetPrefix') }
  })

export function loggingElement({ target, prefix }: LoggingFields): XmlElement {
  const enabled = element('LoggingEnabled', leaf('TargetBucket', target), leaf('TargetPrefix', prefix))
  return element('BucketLoggingStatus', ...(target === '' ? [] : [enabled]))
}

export interface LockFields {
  /** Empty: new versions are not retained unless a request asks for it. */
  readonly mode: '' | 'GOVERNANCE' | 'COMPLIANCE'
  readonly unit: 'Days' | 'Years'
  readonly period: string
}

export const NEW_LOCK: LockFields = { mode: '', unit: 'Days', period: '30' }

export const readLock = (root: XmlElement): FormReading<LockFields> =>
  reading(unknown => {
    const outer = new ElementReader(root, unknown, ['ObjectLockEnabled', 'Rule'])
    outer.word('ObjectLockEnabled', ['Enabled'])
    const rule = new ElementReader(outer.one('Rule') ?? NOTHING, unknown, ['DefaultRetention'])
    const retention = rule.one('DefaultRetention')
    if (retention === undefined) return NEW_LOCK
    const reader = new ElementReader(retention, unknown, ['Mode', 'Days', 'Years'])
    const unit = reader.has('Years') ? 'Years' : 'Days'
    if (reader.has('Years') && reader.has('Days')) unknown.add('Days')
    return { mode: reader.word('Mode', ['GOVERNANCE', 'COMPLIANCE']) ?? '', unit, period: reader.text(unit).trim() }
  })

export function lockElement({ mode, unit, period }: LockFields): XmlElement {
  const retention = element('DefaultRetention', leaf('Mode', mode), leaf(unit, period))
  return element(
    'ObjectLockConfiguration',
    leaf('ObjectLockEnabled', 'Enabled'),
    ...(mode === '' ? [] : [element('Rule', retention)]),
  )
}

export const readBucketTags = (root: XmlElement): FormReading<TagPairs> =>
  reading(unknown => {
    const outer = new ElementReader(root, unknown, ['TagSet'])
    const set = new ElementReader(outer.one('TagSet') ?? NOTHING, unknown, ['Tag'])
    return readTagElements(set.all('Tag'), unknown)
  })

export const bucketTagsElement = (tags: TagPairs): XmlElement =>
  element('Tagging', element('TagSet', ...tagElements(tags)))
