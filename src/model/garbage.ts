import { bytes, type Codec, fixed, flag, format, list, struct, text, variants } from '../lib/codec.ts'
import { type Slice, sliceCodec } from './content.ts'

/**
 * Bytes that no record names any more. Written in the commit that removed the name; it keeps the references until the
 * reclaimer drops them, once no reader that could have seen the name is left.
 */
export type Garbage =
  | { readonly kind: 'slices'; readonly slices: readonly Slice[] }
  | { readonly kind: 'content'; readonly id: Buffer }
  /**
   * Pages of a content without a record: written ahead of a commit that never happened, or `held` while being released.
   */
  | { readonly kind: 'pages'; readonly id: Buffer; readonly held: boolean }
  /** Part records of a finished upload. `taken` has a bit for each part whose slices the object uses. */
  | { readonly kind: 'parts'; readonly upload: Buffer; readonly taken: Buffer }
  /** A volume that compaction has emptied. */
  | { readonly kind: 'volume'; readonly name: string }

const garbageCodec: Codec<Garbage> = variants<Garbage>({
  slices: struct<{ slices: readonly Slice[] }>({ slices: list(sliceCodec) }),
  content: struct<{ id: Buffer }>({ id: fixed(16) }),
  pages: struct<{ id: Buffer; held: boolean }>({ id: fixed(16), held: flag }),
  parts: struct<{ upload: Buffer; taken: Buffer }>({ upload: fixed(16), taken: bytes }),
  volume: struct<{ name: string }>({ name: text }),
})

export const garbageFormat = format<Garbage>('G1', garbageCodec)
