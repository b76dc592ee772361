/** Every operation there is. Routing, the log's names and the list of permissions are derived from this. */
import { AbortMultipartUpload } from './AbortMultipartUpload.ts'
import { GetBucketAcl, PutBucketAcl } from './BucketAcl.ts'
import { CreateBucket, DeleteBucket, GetBucketLocation, HeadBucket, ListBuckets } from './buckets.ts'
import { CompleteMultipartUpload, CompleteWithoutUpload } from './CompleteMultipartUpload.ts'
import { CopyObject } from './CopyObject.ts'
import { CreateMultipartUpload } from './CreateMultipartUpload.ts'
import { DeleteObject } from './DeleteObject.ts'
import { DeleteObjects } from './DeleteObjects.ts'
import { BUCKET_DOCUMENTS } from './documents/index.ts'
import { GetObject, HeadObject } from './GetObject.ts'
import { GetObjectAcl } from './GetObjectAcl.ts'
import { GetObjectAttributes } from './GetObjectAttributes.ts'
import { ListMultipartUploads } from './ListMultipartUploads.ts'
import { ListObjects, ListObjectsV2 } from './ListObjects.ts'
import { ListObjectVersions } from './ListObjectVersions.ts'
import { ListParts } from './ListParts.ts'
import { GetObjectLegalHold, PutLegalHoldWithoutKey, PutObjectLegalHold } from './ObjectLegalHold.ts'
import { GetObjectRetention, PutObjectRetention } from './ObjectRetention.ts'
import { DeleteObjectTagging, GetObjectTagging, PutObjectTagging } from './ObjectTagging.ts'
import type { Operation } from './operation.ts'
import { PostObject } from './PostObject.ts'
import { PutObject } from './PutObject.ts'
import { PutObjectAcl } from './PutObjectAcl.ts'
import { UploadPart } from './UploadPart.ts'
import { UploadPartCopy } from './UploadPartCopy.ts'

export const OPERATIONS: readonly Operation[] = [
  ListBuckets,
  CreateBucket,
  HeadBucket,
  DeleteBucket,
  GetBucketLocation,
  GetBucketAcl,
  PutBucketAcl,
  ...BUCKET_DOCUMENTS,
  ListObjects,
  ListObjectsV2,
  PutObject,
  CopyObject,
  CreateMultipartUpload,
  UploadPart,
  UploadPartCopy,
  CompleteMultipartUpload,
  CompleteWithoutUpload,
  AbortMultipartUpload,
  ListParts,
  ListMultipartUploads,
  GetObject,
  HeadObject,
  DeleteObject,
  DeleteObjects,
  DeleteObjectTagging,
  GetObjectAcl,
  GetObjectAttributes,
  GetObjectLegalHold,
  GetObjectRetention,
  GetObjectTagging,
  ListObjectVersions,
  PostObject,
  PutLegalHoldWithoutKey,
  PutObjectAcl,
  PutObjectLegalHold,
  PutObjectRetention,
  PutObjectTagging,
]
