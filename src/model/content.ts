/**
 * The composition of an object's bytes. Bytes are stored in immutable blobs; a content lists the blob ranges that
 * follow one another. Contents and blobs are shared by reference counting, so that a copy is a record and moves no
 * bytes.
 */
import {
  absent,
  bytes,
  type Codec,
  fixed,
  format,
  list,
  optional,
  struct,
  text,
  uint,
  variants,
  word,
} from '../lib/codec.ts'

/** A range of a blob or of another content, in plaintext bytes. */
export interface Slice {
  readonly of: 'blob' | 'content'
  readonly id: Buffer
  readonly start: number
  readonly length: number
  /** The blob's key, wrapped by the content key of the record that contains this slice; only for sealed blobs. */
  readonly key: Buffer | undefined
}

/** How inline bytes are sealed: like a blob, with an id of their own. */
export interface InlineSeal {
  readonly id: Buffer
  readonly key: Buffer
  readonly storageKey: number
}

/**
 * Small contents are stored in the record that names them, as are a few slices; many slices have records of their own,
 * which copies share.
 */
export type Content =
  | { readonly kind: 'inline'; readonly bytes: Buffer; readonly seal: InlineSeal | undefined }
  | { readonly kind: 'slices'; readonly slices: readonly Slice[] }
  | { readonly kind: 'shared'; readonly id: Buffer }

/** Larger lists become a shared content, so that a version's record and its copies stay small. */
export const EMBEDDED_SLICES_MAX = 4

export const sliceCodec: Codec<Slice> = struct<Slice>({
  of: word('blob', 'content'),
  id: fixed(16),
  start: uint,
  length: uint,
  key: optional(bytes),
})

export const contentCodec: Codec<Content> = variants<Content>({
  inline: struct<Omit<Extract<Content, { kind: 'inline' }>, 'kind'>>({
    bytes,
    seal: optional(struct<InlineSeal>({ id: fixed(16), key: bytes, storageKey: uint })),
  }),
  slices: struct<Omit<Extract<Content, { kind: 'slices' }>, 'kind'>>({ slices: list(sliceCodec) }),
  shared: struct<Omit<Extract<Content, { kind: 'shared' }>, 'kind'>>({ id: fixed(16) }),
})

/** A blob's record: its location and its number of references. */
export interface BlobRecord {
  readonly volume: string | undefined
  readonly offset: number
  /** Bytes as stored, sealed or not. */
  readonly storedLength: number
  readonly frameBytes: number
  /** Plaintext length. */
  readonly length: number
  /** Version of the storage key that sealed it; undefined for plain bytes. */
  readonly storageKey: number | undefined
  readonly referenceCount: number
}

export const blobFormat = format<BlobRecord>(
  'L1',
  struct<BlobRecord>({
    volume: optional(text),
    offset: uint,
    storedLength: uint,
    frameBytes: uint,
    length: uint,
    storageKey: optional(uint),
    referenceCount: uint,
  }),
)

/** A part of a completed upload as stored with its content: for reads by part number and for its checksum. */
export interface ContentPart {
  readonly number: number
  readonly size: number
  readonly etag: string
  readonly checksum: string | undefined
  readonly slices: readonly Slice[]
}

/** One record of parts and where it begins: reading a range opens one page, not all of them. */
export interface ContentPage {
  readonly start: number
  readonly firstPart: number
  readonly parts: number
}

export interface ContentRecord {
  readonly referenceCount: number
  readonly size: number
  /** Levels of contents below this one; bounded, so that reads are not nested deeply. */
  readonly depth: number
  readonly pages: readonly ContentPage[]
  /** Algorithm of its parts' checksums. A copy that shares the content may have a checksum by another one. */
  readonly sums: string | undefined
}

const pagesCodec = list(struct<ContentPage>({ start: uint, firstPart: uint, parts: uint }))

/** C1 does not state the algorithm of part checksums. */
const contentFormat1 = format<ContentRecord>(
  'C1',
  struct<ContentRecord>({ referenceCount: uint, size: uint, depth: uint, pages: pagesCodec, sums: absent }),
)

export const contentFormat = format<ContentRecord>(
  'C2',
  struct<ContentRecord>({ referenceCount: uint, size: uint, depth: uint, pages: pagesCodec, sums: optional(text) }),
  contentFormat1,
)

export const pageFormat = format<readonly ContentPart[]>(
  'P1',
  list(
    struct<ContentPart>({ number: uint, size: uint, etag: text, checksum: optional(text), slices: list(sliceCodec) }),
  ),
)
