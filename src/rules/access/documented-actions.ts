/**
 * Actions that S3 documents and that no operation here needs. Policies may name them, so that a policy written for S3
 * is accepted unchanged; they have no effect.
 */
const ON_BUCKET = [
  'CreateBucketMetadataTableConfiguration',
  'DeleteBucketMetadataTableConfiguration',
  'GetAccelerateConfiguration',
  'GetAnalyticsConfiguration',
  'GetBucketAbac',
  'GetBucketMetadataTableConfiguration',
  'GetBucketNotification',
  'GetIntelligentTieringConfiguration',
  'GetInventoryConfiguration',
  'GetMetricsConfiguration',
  'GetReplicationConfiguration',
  'ListTagsForResource',
  'PauseReplication',
  'PutAccelerateConfiguration',
  'PutAnalyticsConfiguration',
  'PutBucketAbac',
  'PutBucketNotification',
  'PutIntelligentTieringConfiguration',
  'PutInventoryConfiguration',
  'PutMetricsConfiguration',
  'PutReplicationConfiguration',
  'TagResource',
  'UntagResource',
  'UpdateBucketMetadataInventoryTableConfiguration',
  'UpdateBucketMetadataJournalTableConfiguration',
]

const ON_OBJECT = [
  'GetObjectTorrent',
  'GetObjectVersionForReplication',
  'GetObjectVersionTorrent',
  'InitiateReplication',
  'ObjectOwnerOverrideToBucketOwner',
  'ReplicateDelete',
  'ReplicateObject',
  'ReplicateTags',
  'RestoreObject',
  'UpdateObjectEncryption',
]

/** Actions on the account, or on resources that do not exist here. */
const ON_SERVICE = [
  'CreateAccessPoint',
  'CreateJob',
  'DeleteAccessPoint',
  'DeleteAccessPointPolicy',
  'DeleteJobTagging',
  'DeleteStorageLensConfiguration',
  'DescribeJob',
  'GetAccessPoint',
  'GetAccessPointPolicy',
  'GetAccessPointPolicyStatus',
  'GetAccountPublicAccessBlock',
  'GetJobTagging',
  'GetStorageLensConfiguration',
  'GetStorageLensDashboard',
  'ListAccessPoints',
  'ListJobs',
  'ListMultiRegionAccessPoints',
  'ListStorageLensConfigurations',
  'PutAccessPointPolicy',
  'PutAccountPublicAccessBlock',
  'PutJobTagging',
  'PutStorageLensConfiguration',
  'UpdateJobPriority',
  'UpdateJobStatus',
]

export const DOCUMENTED_ACTIONS = { service: ON_SERVICE, bucket: ON_BUCKET, object: ON_OBJECT } as const
