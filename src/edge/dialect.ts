/**
 * G2. The two dialects as data: how neutral names are spelled on the wire, and where the two differ on purpose. Nothing
 * below the edge knows either spelling. Both see the same buckets and objects, and may do the same.
 */
import { SCHEMES, type Scheme, schemeNamedBy } from '../auth/schemes.ts'
import { headerValues, type RawRequest, splitTarget } from '../http/raw-request.ts'
import { Fault } from '../model/faults.ts'
import type { DialectBehavior } from '../operations/context.ts'
import { GROUP_URIS } from '../rules/access/names.ts'
import type { EncryptionNames } from '../rules/documents/encryption.ts'

export interface Dialect {
  readonly name: 'svc' | 's3'
  readonly scheme: Scheme
  /** The prefix of extension headers. */
  readonly prefix: string
  /** Of the root elements of responses. */
  readonly namespace: string | undefined
  /** Neutral names that are not spelled by putting the prefix before them. */
  readonly odd: ReadonlyMap<string, string>
  /** Values of headers that are spelled differently, by neutral header and neutral value. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, string>>
  /** D27. `+` in `copy-source` is a space, as in a form; otherwise it is a plus sign. */
  readonly copySourcePlusIsSpace: boolean
  readonly behavior: DialectBehavior
  /** D11. Faults of authentication answer 403, whatever their code's own status. */
  readonly authFaultsAre403: boolean
  /** D18. The operations whose specification lists one general 400, and the codes that are sent as it. */
  readonly foldsInto: 'InvalidRequest' | undefined
  /** Fault codes and details that go by another name. */
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
      regionOnAnswers: false,
      otherChecksum: 'InvalidRequest',
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
      noAccountId: 'AccessDenied',
      namesNullVersion: true,
      locks: {
        bucketWithout: 'ObjectLockConfigurationNotFoundError',
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
      regionOnAnswers: true,
      otherChecksum: 'BadDigest',
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
      noAccountId: 'InvalidBucketOwnerAWSAccountID',
      namesNullVersion: false,
      locks: {
        bucketWithout: 'InvalidRequest',
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

/** The name of a header on the wire: `:acl` is the dialect's, anything else stands for itself. */
export function wireName(dialect: Dialect, name: string): string {
  if (!name.startsWith(':')) return name
  const neutral = name.slice(1)
  return dialect.odd.get(neutral) ?? dialect.prefix + neutral
}

/** R2. The neutral name of a header of the wire, given in lower case. */
export function neutralName({ prefix, odd }: Dialect, name: string): string {
  if (!name.startsWith(prefix)) return name
  for (const [neutral, wire] of odd) if (wire === name) return `:${neutral}`
  const neutral = name.slice(prefix.length)
  // Spelled as it would be if the dialect did not call it otherwise, it means nothing.
  return odd.has(neutral) ? name : `:${neutral}`
}

/** Facts about a header's name. */
interface SentName {
  /** Whose extension it is. */
  readonly spoken: Dialect | undefined
  /** Its neutral name in each dialect. */
  readonly svc: string
  readonly s3: string
}

const NAMES_MAX = 1_000
/** Names as they were sent: clients send the same ones all day. */
const names = new Map<string, SentName>()

function nameSent(sent: string): SentName {
  const known = names.get(sent)
  if (known !== undefined) return known
  const name = sent.toLowerCase()
  const read = {
    spoken: ALL.find(({ prefix }) => name.startsWith(prefix)),
    svc: neutralName(DIALECTS.svc, name),
    s3: neutralName(DIALECTS.s3, name),
  }
  if (names.size >= NAMES_MAX) names.delete(names.keys().next().value!)
  names.set(sent, read)
  return read
}

/** The neutral name of a header as it was sent. */
export const neutralNameSent = (dialect: Dialect, sent: string): string => nameSent(sent)[dialect.name]

/** A header's value on the wire. */
export const wireValue = (dialect: Dialect, name: string, value: string): string =>
  dialect.values.get(name)?.get(value) ?? value

/** A header's value from the wire; one that is not spelled differently stands for itself. */
export function neutralValue(dialect: Dialect, name: string, value: string): string {
  if (name === ':copy-source') return dialect.copySourcePlusIsSpace ? value.replaceAll('+', '%20') : value
  const values = dialect.values.get(name)
  if (values === undefined) return value
  for (const [neutral, wire] of values) if (wire === value) return neutral
  // Our own name for something means nothing where the dialect calls it otherwise.
  return values.has(value) ? `?${value}` : value
}

/** Fields of a form that carry a signature of that kind; as headers they mean nothing. */
const OLD_FIELDS = ['awsaccesskeyid', 'signature']

/** Signature Version 2 exists in one dialect only, so it tells which one a request speaks that says nothing else. */
function hasOldSignature(request: RawRequest): boolean {
  const [authorization = ''] = headerValues(request, 'authorization')
  if (authorization.startsWith('AWS ') || OLD_FIELDS.some(name => headerValues(request, name).length > 0)) return true
  return `&${splitTarget(request.target).query}`.includes('&AWSAccessKeyId=')
}

/**
 * Which dialect a request speaks: its signature says so, else its extension headers, else it is the one that the
 * operator prefers. One that is mixed of two is refused, in the words of that one.
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

/** Texts that name headers do so neutrally, behind svc's prefix; a dialect's reader gets its own names. */
export function inDialect(dialect: Dialect, text: string): string {
  if (!text.includes(NATIVE_PREFIX)) return text
  let told = text
  for (const [neutral, wire] of dialect.odd) told = told.replaceAll(NATIVE_PREFIX + neutral, wire)
  return dialect.prefix === NATIVE_PREFIX ? told : told.replaceAll(NATIVE_PREFIX, dialect.prefix)
}
