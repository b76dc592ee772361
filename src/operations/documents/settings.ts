/** Documents whose contents are part of the bucket's record. */
import type { DefaultRetention, Ownership, PublicAccessBlock, Versioning } from '../../model/bucket.ts'
import {
  lockDocument,
  ownershipDocument,
  publicAccessBlockDocument,
  readLockConfiguration,
  readOwnership,
  readPublicAccessBlock,
  readRequesterPays,
  readVersioning,
  requestPaymentDocument,
  versioningDocument,
} from '../../rules/documents/settings.ts'
import { checkListFitsOwnership } from '../acl.ts'
import type { DocumentKind } from './document.ts'

/** Kinds that are always set never return this. */
const NEVER = 'InternalError'

export const versioning: DocumentKind<Exclude<Versioning, 'off'>> = {
  query: 'versioning',
  get: { name: 'GetBucketVersioning', needs: 'GetBucketVersioning' },
  put: { name: 'PutBucketVersioning', needs: 'PutBucketVersioning', proof: 'signed hash' },
  absent: NEVER,
  show: async ctx => versioningDocument(ctx.bucket),
  read: readVersioning,
  keep: (ctx, wanted) => ctx.store.buckets.setVersioning(ctx.bucket.name, wanted),
}

export const requestPayment: DocumentKind<boolean> = {
  query: 'requestPayment',
  get: { name: 'GetBucketRequestPayment', needs: 'GetBucketRequestPayment' },
  put: { name: 'PutBucketRequestPayment', needs: 'PutBucketRequestPayment' },
  absent: NEVER,
  show: async ctx => requestPaymentDocument(ctx.bucket.requesterPays),
  read: readRequesterPays,
  keep: (ctx, requesterPays) => ctx.store.buckets.configure(ctx.bucket.name, () => ({ requesterPays })),
}

export const publicAccessBlock: DocumentKind<PublicAccessBlock> = {
  query: 'publicAccessBlock',
  get: { name: 'GetPublicAccessBlock', needs: 'GetBucketPublicAccessBlock' },
  put: { name: 'PutPublicAccessBlock', needs: 'PutBucketPublicAccessBlock' },
  remove: { name: 'DeletePublicAccessBlock', needs: 'PutBucketPublicAccessBlock' },
  absent: 'NoSuchPublicAccessBlockConfiguration',
  show: async ({ bucket }) =>
    bucket.publicAccessBlock === undefined ? undefined : publicAccessBlockDocument(bucket.publicAccessBlock),
  read: readPublicAccessBlock,
  keep: (ctx, block) => ctx.store.buckets.configure(ctx.bucket.name, () => ({ publicAccessBlock: block })),
  drop: ctx => ctx.store.buckets.configure(ctx.bucket.name, () => ({ publicAccessBlock: undefined })),
}

export const ownershipControls: DocumentKind<Ownership> = {
  query: 'ownershipControls',
  get: { name: 'GetBucketOwnershipControls', needs: 'GetBucketOwnershipControls' },
  put: { name: 'PutBucketOwnershipControls', needs: 'PutBucketOwnershipControls' },
  remove: { name: 'DeleteBucketOwnershipControls', needs: 'PutBucketOwnershipControls' },
  absent: 'OwnershipControlsNotFoundError',
  show: async ({ bucket }) => (bucket.ownership === undefined ? undefined : ownershipDocument(bucket.ownership)),
  read: readOwnership,
  keep: (ctx, ownership) =>
    ctx.store.buckets.configure(ctx.bucket.name, ({ grants, owner }) => {
      checkListFitsOwnership(grants, owner, ownership)
      return { ownership }
    }),
  drop: ctx => ctx.store.buckets.configure(ctx.bucket.name, () => ({ ownership: undefined })),
}

export const objectLock: DocumentKind<DefaultRetention | undefined> = {
  query: 'object-lock',
  get: { name: 'GetObjectLockConfiguration', needs: 'GetBucketObjectLockConfiguration' },
  put: { name: 'PutObjectLockConfiguration', needs: 'PutBucketObjectLockConfiguration' },
  absent: 'ObjectLockConfigurationNotFoundError',
  show: async ({ bucket }) => (bucket.lockEnabled ? lockDocument(bucket.defaultRetention) : undefined),
  read: readLockConfiguration,
  keep: (ctx, retention) => ctx.store.buckets.setLock(ctx.bucket.name, retention),
}
