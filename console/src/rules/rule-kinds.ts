/** The rules that a bucket can have: where their documents are, and what the object API requires for them. */
export type RuleKind = 'versioning' | 'lifecycle' | 'lock' | 'encryption' | 'cors' | 'website' | 'logging' | 'tags'

interface RuleAccess {
  readonly read: string
  readonly write: string
  readonly remove?: string
}

/** In the order of the page. */
export const RULE_ACCESS: Readonly<Record<RuleKind, RuleAccess>> = {
  versioning: { read: 's3:GetBucketVersioning', write: 's3:PutBucketVersioning' },
  lifecycle: { read: 's3:GetLifecycleConfiguration', write: 's3:PutLifecycleConfiguration' },
  lock: { read: 's3:GetBucketObjectLockConfiguration', write: 's3:PutBucketObjectLockConfiguration' },
  encryption: { read: 's3:GetEncryptionConfiguration', write: 's3:PutEncryptionConfiguration' },
  cors: { read: 's3:GetBucketCORS', write: 's3:PutBucketCORS' },
  website: { read: 's3:GetBucketWebsite', write: 's3:PutBucketWebsite', remove: 's3:DeleteBucketWebsite' },
  logging: { read: 's3:GetBucketLogging', write: 's3:PutBucketLogging' },
  tags: { read: 's3:GetBucketTagging', write: 's3:PutBucketTagging' },
}

export const RULE_KINDS = Object.keys(RULE_ACCESS) as RuleKind[]

export type DocumentKind = Exclude<RuleKind, 'versioning'>
/** Object Lock stays on once it is. */
export type RemovableKind = Exclude<DocumentKind, 'lock'>

/** The sub-resource of each document, which is also its name among the documents of a bucket. */
export const SUB_RESOURCES: Readonly<Record<DocumentKind, string>> = {
  lifecycle: 'lifecycle',
  lock: 'object-lock',
  encryption: 'encryption',
  cors: 'cors',
  website: 'website',
  logging: 'logging',
  tags: 'tagging',
}
