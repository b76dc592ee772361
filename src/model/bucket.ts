import { type Codec, flag, format, list, optional, struct, text, uint, word } from '../lib/codec.ts'
import { type Grant, grantCodec } from './grant.ts'

export type Versioning = 'off' | 'on' | 'suspended'
export type LockMode = 'governance' | 'compliance'

export interface DefaultRetention {
  readonly mode: LockMode
  readonly days: number
  /** It was given in years, and is shown so. */
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

/** R12. What is stored about a bucket. */
export interface Bucket {
  readonly name: string
  /** Another one for every bucket that is made, also under a name that was there before. */
  readonly id: string
  /** Canonical id of the account that made it. */
  readonly owner: string
  readonly createdAt: number
  /** Once it has been on it is never off again, only suspended. */
  readonly versioning: Versioning
  /** Holds and retention are possible; once true it stays true, and versioning stays on. */
  readonly lockEnabled: boolean
  readonly defaultRetention: DefaultRetention | undefined
  readonly grants: readonly Grant[]
  /** Undefined: nobody set it, and whoever writes an object owns it. */
  readonly ownership: Ownership | undefined
  readonly publicAccessBlock: PublicAccessBlock | undefined
  /** Whoever asks pays, and says so. */
  readonly requesterPays: boolean
  /** Names of the documents that stand in records of their own: policy, CORS rules and the like. */
  readonly documents: readonly string[]
  /**
   * Somebody is deleting the bucket and looks whether it is empty. Whoever writes into it meanwhile takes this back.
   */
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
