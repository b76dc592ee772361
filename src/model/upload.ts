import { fixed, flag, format, list, optional, struct, text, uint, word } from '../lib/codec.ts'
import { type Slice, sliceCodec } from './content.ts'
import {
  type Attributes,
  attributesCodec,
  type Checksum,
  type Encryption,
  encryptionCodec,
  type Lock,
  lockCodec,
} from './version.ts'

/** A multipart upload in progress. Everything about the future object is fixed here when it begins. */
export interface Upload {
  readonly id: Buffer
  readonly bucket: string
  readonly key: string
  readonly initiator: string
  readonly owner: string
  readonly initiatedAt: number
  readonly attributes: Attributes
  readonly lock: Lock
  readonly encryption: Encryption | undefined
  readonly checksum: { readonly algorithm: string; readonly type: Checksum['type'] } | undefined
  /** Somebody has read the parts in order to complete. Whoever stores a part meanwhile takes this back. */
  readonly completing: boolean
  /** Counts how often that was taken back: whoever completes must find the round in which it read the parts. */
  readonly round: number
}

export const uploadFormat = format<Upload>(
  'U1',
  struct<Upload>({
    id: fixed(16),
    bucket: text,
    key: text,
    initiator: text,
    owner: text,
    initiatedAt: uint,
    attributes: attributesCodec,
    lock: lockCodec,
    encryption: optional(encryptionCodec),
    checksum: optional(struct({ algorithm: text, type: word('COMPOSITE', 'FULL_OBJECT') })),
    completing: flag,
    round: uint,
  }),
)

export interface Part {
  readonly number: number
  readonly size: number
  readonly etag: string
  readonly checksum: string | undefined
  readonly modifiedAt: number
  /** When its request began: a slower older request never replaces the part of a newer one. */
  readonly begunAt: number
  readonly slices: readonly Slice[]
}

export const partFormat = format<Part>(
  'T1',
  struct<Part>({
    number: uint,
    size: uint,
    etag: text,
    checksum: optional(text),
    modifiedAt: uint,
    begunAt: uint,
    slices: list(sliceCodec),
  }),
)
