import { bytes, type Codec, flag, format, list, optional, pair, struct, text, uint, word } from '../lib/codec.ts'
import type { LockMode } from './bucket.ts'
import type { Content } from './content.ts'
import { type Grant, grantCodec } from './grant.ts'

export type Pairs = readonly (readonly [string, string])[]

export type { Grant, Permission } from './grant.ts'

/** Client-settable properties of an object besides its bytes. */
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
  /** Undefined until first set. */
  readonly hold: boolean | undefined
}

export const UNLOCKED: Lock = { retention: undefined, hold: undefined }

export interface Checksum {
  readonly algorithm: string
  readonly type: 'COMPOSITE' | 'FULL_OBJECT'
  readonly value: string
}

/** How a content is sealed: the chosen key and the content key wrapped by it. A customer's key is not stored. */
export interface Encryption {
  readonly by: 'service' | 'named' | 'customer'
  /** The named key and its encryption context. */
  readonly keyName: string | undefined
  readonly context: Buffer | undefined
  readonly bucketKey: boolean
  /** The client asked for double encryption (`DSSE`); everything is sealed twice anyway, so it is only echoed. */
  readonly isDouble?: boolean
  /** MD5 of the customer's key as sent by the client. */
  readonly customerKeyMd5: string | undefined
  readonly wrappedKey: Buffer
}

/** Used when a client asks for a named key without naming one. */
export const DEFAULT_KEY_NAME = 'default'

export const NULL_VERSION = 'null'

/** R13. The stored version. */
export interface Version {
  /** Sequence number within its key: greater is newer. */
  readonly seq: number
  /** The version id; `null` for one written while versioning was off or suspended. */
  readonly id: string
  readonly modifiedAt: number
  readonly owner: string
  /** True for a delete marker, which has no content. */
  readonly marker: boolean
  readonly size: number
  readonly etag: string
  /** Parts of the upload that created it; 0 for a single PUT. */
  readonly parts: number
  readonly checksum: Checksum | undefined
  readonly encryption: Encryption | undefined
  readonly lock: Lock
  readonly attributes: Attributes
  /** Sequence number of this key's null version among the older ones; stored in the current version only. */
  readonly nullSeq: number | undefined
  /** Last, so that the describing fields precede inline bytes. */
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

/** Double encryption is a separate word, which older records do not contain. */
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

/** The head of a key whose newest version is a delete marker. */
export interface Deleted {
  readonly top: number
  readonly nullSeq: number | undefined
}

export const deletedFormat = format<Deleted>('D1', struct<Deleted>({ top: uint, nullSeq: optional(uint) }))
