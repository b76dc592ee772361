import { absent, fixed, flag, format, list, optional, struct, text, uint, word } from '../lib/codec.ts'
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

/** R29, R63. A multipart upload in progress. Everything about the future object is fixed here when it begins. */
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
  /** Set while the upload is being ended after its parts were read; storing a part clears it. */
  readonly completing: boolean
  /** Incremented whenever `completing` is cleared: the end must commit in the round in which the parts were read. */
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
  /** Algorithm of the checksum: the upload's, or the client's own choice where the upload declares none. */
  readonly algorithm: string | undefined
  readonly modifiedAt: number
  /** Start of its request: an older request never replaces the part of a newer one. */
  readonly begunAt: number
  readonly slices: readonly Slice[]
}

/** T1 has only checksums of the declared algorithm. */
const partFormat1 = format<Part>(
  'T1',
  struct<Part>({
    number: uint,
    size: uint,
    etag: text,
    checksum: optional(text),
    algorithm: absent,
    modifiedAt: uint,
    begunAt: uint,
    slices: list(sliceCodec),
  }),
)

export const partFormat = format<Part>(
  'T2',
  struct<Part>({
    number: uint,
    size: uint,
    etag: text,
    checksum: optional(text),
    algorithm: optional(text),
    modifiedAt: uint,
    begunAt: uint,
    slices: list(sliceCodec),
  }),
  partFormat1,
)

/** The algorithm of a part's checksum; older records do not state it, and then it is the upload's. */
export const algorithmOf = ({ checksum }: Upload, part: Part): string | undefined =>
  part.checksum === undefined ? undefined : (part.algorithm ?? checksum?.algorithm)
