/** The documents of a bucket, and the operations on each. */
import type { Operation } from '../operation.ts'
import { documentOperations } from './document.ts'
import { lifecycle } from './lifecycle.ts'
import { logging } from './logging.ts'
import { DeleteBucketPolicy, GetBucketPolicy, GetBucketPolicyStatus, PutBucketPolicy } from './policy.ts'
import { objectLock, ownershipControls, publicAccessBlock, requestPayment, versioning } from './settings.ts'
import { cors, encryption, tagging, website } from './texts.ts'

export const BUCKET_DOCUMENTS: readonly Operation[] = [
  GetBucketPolicy,
  PutBucketPolicy,
  DeleteBucketPolicy,
  GetBucketPolicyStatus,
  ...documentOperations(versioning),
  ...documentOperations(requestPayment),
  ...documentOperations(publicAccessBlock),
  ...documentOperations(ownershipControls),
  ...documentOperations(objectLock),
  ...documentOperations(cors),
  ...documentOperations(lifecycle),
  ...documentOperations(website),
  ...documentOperations(encryption),
  ...documentOperations(tagging),
  ...documentOperations(logging),
]
