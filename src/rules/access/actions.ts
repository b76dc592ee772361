/**
 * All actions by their neutral names. A dialect adds its prefix (`names.ts`); an operation declares which of these it
 * needs.
 */

export type ResourceType = 'service' | 'bucket' | 'object'

interface ActionFacts {
  /** The type of the action's resource. */
  readonly on: ResourceType
  /**
   * The resource whose owner authorizes it. The bucket owner controls creating and removing objects, even those of
   * others.
   */
  readonly authorizedBy: 'bucket' | 'object'
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
  ...rows(ON_SERVICE, { on: 'service', authorizedBy: 'bucket' }),
  ...rows(ON_BUCKET, { on: 'bucket', authorizedBy: 'bucket' }),
  ...rows(ON_OBJECT_BY_BUCKET, { on: 'object', authorizedBy: 'bucket' }),
  ...rows(ON_OBJECT, { on: 'object', authorizedBy: 'object' }),
])

export function actionFacts(action: Action): ActionFacts {
  const facts = ACTIONS.get(action)
  if (facts === undefined) throw new Error(`unknown action ${action}`)
  return facts
}

/** Whether the action configures a bucket, including its ACL, or removes it. */
export const changesBucket = (action: Action): boolean =>
  actionFacts(action).on === 'bucket' && /^(?:Put|Delete)/.test(action)
