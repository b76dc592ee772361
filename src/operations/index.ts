/** The list of all operations. Routing, log names and the list of permissions are derived from it. */

import { GetBucketAcl, PutBucketAcl } from './bucket/BucketAcl.ts'
import { CreateBucket } from './bucket/CreateBucket.ts'
import { DeleteBucket } from './bucket/DeleteBucket.ts'
import { GetBucketLocation } from './bucket/GetBucketLocation.ts'
import { HeadBucket } from './bucket/HeadBucket.ts'
import { ListBuckets } from './bucket/ListBuckets.ts'
import { ListObjects, ListObjectsV2 } from './bucket/ListObjects.ts'
import { ListObjectVersions } from './bucket/ListObjectVersions.ts'
import { BUCKET_DOCUMENTS } from './documents/index.ts'
import { GetObjectLegalHold, PutLegalHoldWithoutKey, PutObjectLegalHold } from './lock/ObjectLegalHold.ts'
import { GetObjectRetention, PutObjectRetention } from './lock/ObjectRetention.ts'
import { AbortMultipartUpload } from './multipart/AbortMultipartUpload.ts'
import { CompleteMultipartUpload, CompleteWithoutUpload } from './multipart/CompleteMultipartUpload.ts'
import { CreateMultipartUpload } from './multipart/CreateMultipartUpload.ts'
import { ListMultipartUploads } from './multipart/ListMultipartUploads.ts'
import { ListParts } from './multipart/ListParts.ts'
import { UploadPart } from './multipart/UploadPart.ts'
import { UploadPartCopy } from './multipart/UploadPartCopy.ts'
import { CopyObject } from './object/CopyObject.ts'
import { DeleteObject } from './object/DeleteObject.ts'
import { DeleteObjects } from './object/DeleteObjects.ts'
import { GetObject } from './object/GetObject.ts'
import { GetObjectAttributes } from './object/GetObjectAttributes.ts'
import { HeadObject } from './object/HeadObject.ts'
import { GetObjectAcl, PutObjectAcl } from './object/ObjectAcl.ts'
import { DeleteObjectTagging, GetObjectTagging, PutObjectTagging } from './object/ObjectTagging.ts'
import { PostObject } from './object/PostObject.ts'
import { PutObject } from './object/PutObject.ts'
import type { Operation } from './operation.ts'

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
