/**
 * G2. The two dialects as data: how neutral names are spelled on the wire, and the intended differences between them.
 * No layer below the edge knows either spelling. Both address the same buckets and objects, with the same permissions.
 */
import { SCHEMES, type Scheme, schemeNamedBy } from '../auth/signing.ts'
import { headerValues, type RawRequest, splitTarget } from '../http/raw-request.ts'
import { ownText } from '../lib/own-text.ts'
import { Fault } from '../model/faults.ts'
import type { DialectBehavior } from '../operations/context.ts'
import { GROUP_URIS } from '../rules/access/names.ts'
import type { EncryptionNames } from '../rules/documents/encryption.ts'

export interface Dialect {
  readonly name: 'svc' | 's3'
  readonly scheme: Scheme
  /** The prefix of extension headers. */
  readonly prefix: string
  /** The namespace of response documents. */
  readonly namespace: string | undefined
  /** Headers whose name on the wire is not the prefix plus the neutral name. */
  readonly odd: ReadonlyMap<string, string>
  /** Header values with another spelling, by neutral header and neutral value. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** D27. `+` in `copy-source` is a space, as in a form; otherwise it is a plus sign. */
  readonly copySourcePlusIsSpace: boolean
  readonly behavior: DialectBehavior
  /** D11. Authentication faults have status 403, whatever the status of their code. */
  readonly authFaultsAre403: boolean
  /** D18. The general code that replaces others in operations whose specification lists one 400. */
  readonly foldsInto: 'InvalidRequest' | undefined
  /** Fault codes and details with another name. */
  readonly words: ReadonlyMap<string, string>
}

const groupUris = (dialect: 'svc' | 's3'): DialectBehavior['groupUris'] => ({
  AllUsers: GROUP_URIS.AllUsers[dialect],
  AuthenticatedUsers: GROUP_URIS.AuthenticatedUsers[dialect],
  LogDelivery: GROUP_URIS.LogDelivery[dialect],
})

/** The value that selects encryption under a named key, in documents and in headers alike. */
const VERENC: EncryptionNames = { named: 'verenc', double: 'verenc' }
const KMS: EncryptionNames = { named: 'aws:kms', double: 'aws:kms:dsse' }

const encryptionValues = ({ named, double }: EncryptionNames): Dialect['values'] =>
  new Map([
    [
      ':server-side-encryption',
      new Map([
        ['verenc', named],
        ['verenc+dsse', double],
      ]),
    ],
  ])

export const DIALECTS: { readonly svc: Dialect; readonly s3: Dialect } = {
  svc: {
    name: 'svc',
    scheme: SCHEMES.svc,
    prefix: 'x-svc-',
    namespace: undefined,
    odd: new Map([['server-side-encryption-kms-key-id', 'x-svc-server-side-encryption-svc-kms-key-id']]),
    values: encryptionValues(VERENC),
    copySourcePlusIsSpace: false,
    behavior: {
      keepHeld: true,
      recreateOwnBucket: false,
      missingMatchIsNoSuchKey: false,
      signedHashProves: false,
      regionOnResponses: false,
      checksumMismatch: 'InvalidRequest',
      acl: { mayHaveNoGrants: false, infersType: true, acceptsGrantsAsList: true },
      groupUris: groupUris('svc'),
      bucketTaggingStatus: 200,
      encryptionNames: VERENC,
      completeNotModified: true,
      lateChecksumType: 'BadDigest',
      copyTooLarge: 'EntityTooLarge',
      execReadEverywhere: false,
      repeatsCompletion: false,
      completionNeedsKey: true,
      invalidAccountId: 'AccessDenied',
      namesNullVersion: true,
      locks: {
        withoutObjectLock: 'ObjectLockConfigurationNotFoundError',
        badHold: 'InvalidRequest',
        holdInHeader: true,
        holdWithoutKey: 'InvalidRequest',
      },
    },
    authFaultsAre403: true,
    foldsInto: 'InvalidRequest',
    words: new Map(),
  },
  s3: {
    name: 's3',
    scheme: SCHEMES.s3,
    prefix: 'x-amz-',
    namespace: 'http://s3.amazonaws.com/doc/2006-03-01/',
    odd: new Map([['server-side-encryption-kms-key-id', 'x-amz-server-side-encryption-aws-kms-key-id']]),
    values: new Map([...encryptionValues(KMS), [':acl', new Map([['svc-exec-read', 'aws-exec-read']])]]),
    copySourcePlusIsSpace: true,
    behavior: {
      keepHeld: false,
      recreateOwnBucket: true,
      missingMatchIsNoSuchKey: true,
      signedHashProves: true,
      regionOnResponses: true,
      checksumMismatch: 'BadDigest',
      acl: { mayHaveNoGrants: true, infersType: false, acceptsGrantsAsList: false },
      groupUris: groupUris('s3'),
      bucketTaggingStatus: 204,
      encryptionNames: KMS,
      completeNotModified: false,
      lateChecksumType: 'InvalidRequest',
      copyTooLarge: 'InvalidRequest',
      execReadEverywhere: true,
      repeatsCompletion: true,
      completionNeedsKey: false,
      invalidAccountId: 'InvalidBucketOwnerAWSAccountID',
      namesNullVersion: false,
      locks: {
        withoutObjectLock: 'InvalidRequest',
        badHold: 'MalformedXML',
        holdInHeader: false,
        holdWithoutKey: 'MethodNotAllowed',
      },
    },
    authFaultsAre403: false,
    foldsInto: undefined,
    words: new Map([
      ['XSvcContentSHA256Mismatch', 'XAmzContentSHA256Mismatch'],
      ['SvcComputedContentSHA256', 'S3ComputedContentSHA256'],
      ['SvcAccessKeyId', 'AWSAccessKeyId'],
      ['X-Svc-Expires', 'X-Amz-Expires'],
    ]),
  },
}

const ALL = [DIALECTS.svc, DIALECTS.s3]
const NATIVE_PREFIX = DIALECTS.svc.prefix

/** The name of a header on the wire: `:acl` is the dialect's, any other name is unchanged. */
export function wireName(dialect: Dialect, name: string): string {
  if (!name.startsWith(':')) return name
  const neutral = name.slice(1)
  return dialect.odd.get(neutral) ?? dialect.prefix + neutral
}

/** R2. The neutral name of a header on the wire, given in lower case. */
function neutralName({ prefix, odd }: Dialect, name: string): string {
  if (!name.startsWith(prefix)) return name
  for (const [neutral, wire] of odd) if (wire === name) return `:${neutral}`
  const neutral = name.slice(prefix.length)
  // The regular spelling of a name that the dialect spells differently has no meaning.
  return odd.has(neutral) ? name : `:${neutral}`
}

interface SentName {
  /** The dialect it is an extension of. */
  readonly spoken: Dialect | undefined
  /** Its neutral name in that dialect; the name in lower case for a plain header. */
  readonly neutral: string
  /** Its neutral name in each dialect. */
  readonly svc: string
  readonly s3: string
}

const NAMES_MAX = 1_000
/** Longer names are looked up each time: anyone can send them. */
const NAME_CHARACTERS_MAX = 64
/** Cached by the name as sent: clients repeat the same names. */
const names = new Map<string, SentName>()

export function nameSent(sent: string): SentName {
  const known = names.get(sent)
  if (known !== undefined) return known
  if (sent.length > NAME_CHARACTERS_MAX) return readName(sent)
  if (names.size >= NAMES_MAX) names.delete(names.keys().next().value!)
  const own = ownText(sent)
  const read = readName(own)
  names.set(own, read)
  return read
}

function readName(sent: string): SentName {
  const name = sent.toLowerCase()
  const spoken = ALL.find(({ prefix }) => name.startsWith(prefix))
  return {
    spoken,
    neutral: spoken === undefined ? name : neutralName(spoken, name),
    svc: neutralName(DIALECTS.svc, name),
    s3: neutralName(DIALECTS.s3, name),
  }
}

/** The neutral name of a header as sent. */
export const neutralNameSent = (dialect: Dialect, sent: string): string => nameSent(sent)[dialect.name]

/** The neutral name of a header of this dialect; undefined for any other header. */
export function ownNameSent(dialect: Dialect, sent: string): string | undefined {
  const known = nameSent(sent)
  return known.spoken === dialect ? known[dialect.name] : undefined
}

/** A header's value on the wire. */
export const wireValue = (dialect: Dialect, name: string, value: string): string =>
  dialect.values.get(name)?.get(value) ?? value

/** The neutral value of a header; most values are unchanged. */
export function neutralValue(dialect: Dialect, name: string, value: string): string {
  if (name === ':copy-source') return dialect.copySourcePlusIsSpace ? value.replaceAll('+', '%20') : value
  const values = dialect.values.get(name)
  if (values === undefined) return value
  for (const [neutral, wire] of values) if (wire === value) return neutral
  // The neutral value has no meaning where the dialect spells it differently.
  return values.has(value) ? `?${value}` : value
}

/** Form fields of a Version 2 signature; as headers they have no meaning. */
const OLD_FIELDS = ['awsaccesskeyid', 'signature']

/** Only the s3 dialect has Signature Version 2, so the signature identifies the dialect. */
function hasOldSignature(request: RawRequest): boolean {
  const [authorization = ''] = headerValues(request, 'authorization')
  if (authorization.startsWith('AWS ') || OLD_FIELDS.some(name => headerValues(request, name).length > 0)) return true
  return `&${splitTarget(request.target).query}`.includes('&AWSAccessKeyId=')
}

/**
 * The dialect of a request: that of its signature, else of its extension headers, else the operator's default. A
 * request that mixes both is refused, in the dialect found first.
 */
export function dialectOf(
  request: RawRequest,
  otherwise: Dialect = DIALECTS.svc,
): { readonly dialect: Dialect; readonly isMixed: boolean } {
  const scheme = schemeNamedBy(request)
  let dialect = scheme && DIALECTS[scheme.name]
  let isMixed = false
  for (const [sent] of request.headers) {
    const { spoken } = nameSent(sent)
    if (spoken === undefined) continue
    dialect ??= spoken
    if (spoken !== dialect) isMixed = true
  }
  dialect ??= hasOldSignature(request) ? DIALECTS.s3 : otherwise
  return { dialect, isMixed }
}

export const mixedDialects = (): Fault =>
  new Fault('InvalidRequest', { reason: 'The request mixes headers of two dialects' })

/** Messages name headers with the svc prefix; clients of another dialect get the names of theirs. */
export function inDialect(dialect: Dialect, text: string): string {
  if (!text.includes(NATIVE_PREFIX)) return text
  let spelled = text
  for (const [neutral, wire] of dialect.odd) spelled = spelled.replaceAll(NATIVE_PREFIX + neutral, wire)
  return dialect.prefix === NATIVE_PREFIX ? spelled : spelled.replaceAll(NATIVE_PREFIX, dialect.prefix)
}
