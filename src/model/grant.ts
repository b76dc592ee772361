import { type Codec, flag, struct, text, word } from '../lib/codec.ts'

export type Permission = 'FULL_CONTROL' | 'READ' | 'WRITE' | 'READ_ACP' | 'WRITE_ACP'

export interface Grant {
  /** Canonical id of an account, or the name of a group. */
  readonly grantee: string
  readonly group: boolean
  readonly permission: Permission
}

export const grantCodec: Codec<Grant> = struct<Grant>({
  grantee: text,
  group: flag,
  permission: word('FULL_CONTROL', 'READ', 'WRITE', 'READ_ACP', 'WRITE_ACP'),
})
