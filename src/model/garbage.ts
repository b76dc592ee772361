import { bytes, type Codec, fixed, flag, format, list, struct, text, variants } from '../lib/codec.ts'
import { type Slice, sliceCodec } from './content.ts'

/**
 * What nothing names any more. Written in the same commit that took the name away; it still holds its shares, and the
 * reclaimer gives them back once no reader that could have seen the name is left.
 */
export type Garbage =
  | { readonly kind: 'slices'; readonly slices: readonly Slice[] }
  | { readonly kind: 'content'; readonly id: Buffer }
  /** Pages of a content that has no record: written ahead of a commit that never came, or `held` until its end. */
  | { readonly kind: 'pages'; readonly id: Buffer; readonly held: boolean }
  /** Part records of an upload that ended. `taken` has a bit for each number whose slices the object took over. */
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
