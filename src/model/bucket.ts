import { type Codec, flag, format, list, optional, struct, text, uint, word } from '../lib/codec.ts'
import { type Grant, grantCodec } from './grant.ts'

export type Versioning = 'off' | 'on' | 'suspended'
export type LockMode = 'governance' | 'compliance'

export interface DefaultRetention {
  readonly mode: LockMode
  readonly days: number
  /** The period was given in years and is shown in years. */
  readonly inYears?: boolean
}

const retentionFields = struct<Required<DefaultRetention>>({
  mode: word('governance', 'compliance'),
  days: uint,
  inYears: flag,
})

const retentionCodec: Codec<DefaultRetention> = {
  write: (w, v) => retentionFields.write(w, { ...v, inYears: v.inYears === true }),
  read(r) {
    const { mode, days, inYears } = retentionFields.read(r)
    return inYears ? { mode, days, inYears } : { mode, days }
  },
  skip: r => retentionFields.skip(r),
}

export type Ownership = 'ObjectWriter' | 'BucketOwnerPreferred' | 'BucketOwnerEnforced'

export interface PublicAccessBlock {
  readonly blockPublicAcls: boolean
  readonly ignorePublicAcls: boolean
  readonly blockPublicPolicy: boolean
  readonly restrictPublicBuckets: boolean
}

/** R12. The stored bucket. */
export interface Bucket {
  readonly name: string
  /** Unique per bucket, even for a name that existed before. */
  readonly id: string
  /** Canonical id of the account that created it. */
  readonly owner: string
  readonly createdAt: number
  /** Once enabled, versioning can only be suspended. */
  readonly versioning: Versioning
  /** Object lock is enabled, permanently; versioning stays on. */
  readonly lockEnabled: boolean
  readonly defaultRetention: DefaultRetention | undefined
  readonly grants: readonly Grant[]
  /** Undefined when never set: the writer of an object owns it. */
  readonly ownership: Ownership | undefined
  readonly publicAccessBlock: PublicAccessBlock | undefined
  /** Requesters pay, and must acknowledge it. */
  readonly requesterPays: boolean
  /** Names of documents stored in their own records: policy, CORS rules and so on. */
  readonly documents: readonly string[]
  /** Set while a removal checks that the bucket is empty; a write into it clears the flag. */
  readonly closing: boolean
}

export const bucketFormat = format<Bucket>(
  'B1',
  struct<Bucket>({
    name: text,
    id: text,
    owner: text,
    createdAt: uint,
    versioning: word('off', 'on', 'suspended'),
    lockEnabled: flag,
    defaultRetention: optional(retentionCodec),
    grants: list(grantCodec),
    ownership: optional(word('ObjectWriter', 'BucketOwnerPreferred', 'BucketOwnerEnforced')),
    publicAccessBlock: optional(
      struct<PublicAccessBlock>({
        blockPublicAcls: flag,
        ignorePublicAcls: flag,
        blockPublicPolicy: flag,
        restrictPublicBuckets: flag,
      }),
    ),
    requesterPays: flag,
    documents: list(text),
    closing: flag,
  }),
)
