import { bytes, type Codec, flag, format, list, optional, pair, struct, text, uint, word } from '../lib/codec.ts'
import type { LockMode } from './bucket.ts'
import type { Content } from './content.ts'
import { type Grant, grantCodec } from './grant.ts'

export type Pairs = readonly (readonly [string, string])[]

export type { Grant, Permission } from './grant.ts'

/** What a client may say about an object, apart from its bytes. */
export interface Attributes {
  /** Content-Type, Cache-Control and the like, by lower-case name. */
  readonly headers: Pairs
  /** User metadata by lower-case name. */
  readonly metadata: Pairs
  readonly tags: Pairs
  readonly grants: readonly Grant[]
  readonly redirect: string | undefined
  readonly storageClass: string | undefined
}

export const NO_ATTRIBUTES: Attributes = {
  headers: [],
  metadata: [],
  tags: [],
  grants: [],
  redirect: undefined,
  storageClass: undefined,
}

/** Retention and legal hold of one version; they are independent of each other. */
export interface Lock {
  readonly retention: { readonly mode: LockMode; readonly until: number } | undefined
  /** Undefined until somebody sets it for the first time. */
  readonly hold: boolean | undefined
}

export const UNLOCKED: Lock = { retention: undefined, hold: undefined }

export interface Checksum {
  readonly algorithm: string
  readonly type: 'COMPOSITE' | 'FULL_OBJECT'
  readonly value: string
}

/** How a content is sealed: the specified key and the content key wrapped by it. A customer's key is not in here. */
export interface Encryption {
  readonly by: 'service' | 'named' | 'customer'
  /** Named key and its context. */
  readonly keyName: string | undefined
  readonly context: Buffer | undefined
  readonly bucketKey: boolean
  /** The client asked for its own double form; everything is sealed twice anyway, so this is only said again. */
  readonly isDouble?: boolean
  /** MD5 of the customer's key, as the client sent it. */
  readonly customerKeyMd5: string | undefined
  readonly wrappedKey: Buffer
}

/** What a client gets that asks for a named key and names none. */
export const DEFAULT_KEY_NAME = 'default'

export const NULL_VERSION = 'null'

/** R13. What is stored about a version. */
export interface Version {
  /** Place among the versions of its key: greater is newer. */
  readonly seq: number
  /** What clients call it; `null` for one written while versioning was off or suspended. */
  readonly id: string
  readonly modifiedAt: number
  readonly owner: string
  /** A marker stands for "deleted here" and has no content. */
  readonly marker: boolean
  readonly size: number
  readonly etag: string
  /** Parts of the upload that made it, 0 for one that came in one piece. */
  readonly parts: number
  readonly checksum: Checksum | undefined
  readonly encryption: Encryption | undefined
  readonly lock: Lock
  readonly attributes: Attributes
  /** Where the null version of this key stands among the older ones; kept in the current version only. */
  readonly nullSeq: number | undefined
  /** Last, so that whatever describes the object comes before its bytes. */
  readonly content: Content
}

export const NO_CONTENT: Content = { kind: 'slices', slices: [] }

const pairs = list(pair(text, text))

export const attributeFields = {
  headers: pairs,
  metadata: pairs,
  tags: pairs,
  grants: list(grantCodec),
  redirect: optional(text),
  storageClass: optional(text),
}

export const attributesCodec: Codec<Attributes> = struct<Attributes>(attributeFields)

export const lockCodec: Codec<Lock> = struct<Lock>({
  retention: optional(struct({ mode: word('governance', 'compliance'), until: uint })),
  hold: optional(flag),
})

type StoredEncryption = Omit<Encryption, 'by' | 'isDouble'> & { readonly by: Encryption['by'] | 'named twice' }

const storedEncryption: Codec<StoredEncryption> = struct<StoredEncryption>({
  by: word('service', 'named', 'customer', 'named twice'),
  keyName: optional(text),
  context: optional(bytes),
  bucketKey: flag,
  customerKeyMd5: optional(text),
  wrappedKey: bytes,
})

/** The double form is a word of its own, which records from before do not have. */
export const encryptionCodec: Codec<Encryption> = {
  write(to, { isDouble, ...encryption }) {
    storedEncryption.write(to, isDouble === true ? { ...encryption, by: 'named twice' } : encryption)
  },
  read(from) {
    const { by, ...rest } = storedEncryption.read(from)
    return by === 'named twice' ? { ...rest, by: 'named', isDouble: true } : { ...rest, by }
  },
  skip: from => storedEncryption.skip(from),
}

export const checksumFields = {
  algorithm: text,
  type: word('COMPOSITE', 'FULL_OBJECT'),
  value: text,
}

export const checksumCodec: Codec<Checksum> = struct<Checksum>(checksumFields)

/** A key whose newest version is a marker: remembers what the current version's record would. */
export interface Deleted {
  readonly top: number
  readonly nullSeq: number | undefined
}

export const deletedFormat = format<Deleted>('D1', struct<Deleted>({ top: uint, nullSeq: optional(uint) }))
