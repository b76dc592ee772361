/**
 * Everything that can be permitted or refused, by its neutral name. A dialect puts its prefix before the name
 * (`names.ts`); an operation says which of these it needs.
 */

export type On = 'service' | 'bucket' | 'object'

interface ActionFacts {
  /** What the resource of the action is. */
  readonly on: On
  /** Whose permission counts. Making and removing objects is the bucket owner's business, whoever owns the object. */
  readonly judgedBy: 'bucket' | 'object'
}

const ON_SERVICE = ['ListAllMyBuckets'] as const

const ON_BUCKET = [
  'CreateBucket',
  'DeleteBucket',
  'DeleteBucketPolicy',
  'DeleteBucketWebsite',
  'GetBucketAcl',
  'GetBucketCORS',
  'GetBucketLocation',
  'GetBucketLogging',
  'GetBucketObjectLockConfiguration',
  'GetBucketOwnershipControls',
  'GetBucketPolicy',
  'GetBucketPolicyStatus',
  'GetBucketPublicAccessBlock',
  'GetBucketRequestPayment',
  'GetBucketTagging',
  'GetBucketVersioning',
  'GetBucketWebsite',
  'GetEncryptionConfiguration',
  'GetLifecycleConfiguration',
  'ListBucket',
  'ListBucketMultipartUploads',
  'ListBucketVersions',
  'PutBucketAcl',
  'PutBucketCORS',
  'PutBucketLogging',
  'PutBucketObjectLockConfiguration',
  'PutBucketOwnershipControls',
  'PutBucketPolicy',
  'PutBucketPublicAccessBlock',
  'PutBucketRequestPayment',
  'PutBucketTagging',
  'PutBucketVersioning',
  'PutBucketWebsite',
  'PutEncryptionConfiguration',
  'PutLifecycleConfiguration',
] as const

const ON_OBJECT_BY_BUCKET = [
  'AbortMultipartUpload',
  'BypassGovernanceRetention',
  'DeleteObject',
  'DeleteObjectVersion',
  'ListMultipartUploadParts',
  'PutObject',
] as const

const ON_OBJECT = [
  'DeleteObjectTagging',
  'DeleteObjectVersionTagging',
  'GetObject',
  'GetObjectAcl',
  'GetObjectAttributes',
  'GetObjectLegalHold',
  'GetObjectRetention',
  'GetObjectTagging',
  'GetObjectVersion',
  'GetObjectVersionAcl',
  'GetObjectVersionAttributes',
  'GetObjectVersionTagging',
  'PutObjectAcl',
  'PutObjectLegalHold',
  'PutObjectRetention',
  'PutObjectTagging',
  'PutObjectVersionAcl',
  'PutObjectVersionTagging',
] as const

export type Action =
  | (typeof ON_SERVICE)[number]
  | (typeof ON_BUCKET)[number]
  | (typeof ON_OBJECT_BY_BUCKET)[number]
  | (typeof ON_OBJECT)[number]

const rows = (names: readonly Action[], facts: ActionFacts): [Action, ActionFacts][] => names.map(name => [name, facts])

export const ACTIONS: ReadonlyMap<Action, ActionFacts> = new Map<Action, ActionFacts>([
  ...rows(ON_SERVICE, { on: 'service', judgedBy: 'bucket' }),
  ...rows(ON_BUCKET, { on: 'bucket', judgedBy: 'bucket' }),
  ...rows(ON_OBJECT_BY_BUCKET, { on: 'object', judgedBy: 'bucket' }),
  ...rows(ON_OBJECT, { on: 'object', judgedBy: 'object' }),
])

export function actionFacts(action: Action): ActionFacts {
  const facts = ACTIONS.get(action)
  // An action that the table does not have must never be judged by some other row's rules.
  if (facts === undefined) throw new Error(`no action is called ${action}`)
  return facts
}

/** Configuring a bucket, its ACL included, or removing it. */
export const changesBucket = (action: Action): boolean =>
  actionFacts(action).on === 'bucket' && /^(?:Put|Delete)/.test(action)
