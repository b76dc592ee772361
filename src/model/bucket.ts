import { flag, format, optional, struct, text, uint, word } from '../lib/codec.ts'

export type Versioning = 'off' | 'on' | 'suspended'
export type LockMode = 'governance' | 'compliance'

export interface DefaultRetention {
  readonly mode: LockMode
  readonly days: number
}

export interface Bucket {
  readonly name: string
  /** Account that made it. */
  readonly owner: string
  readonly createdAt: number
  /** Once it has been on it is never off again, only suspended. */
  readonly versioning: Versioning
  /** Holds and retention are possible; once true it stays true, and versioning stays on. */
  readonly lockEnabled: boolean
  readonly defaultRetention: DefaultRetention | undefined
  /** Somebody is deleting the bucket and looks whether it is empty. Whoever writes into it meanwhile takes this back. */
  readonly closing: boolean
}

export const bucketFormat = format<Bucket>(
  'B1',
  struct<Bucket>({
    name: text,
    owner: text,
    createdAt: uint,
    versioning: word('off', 'on', 'suspended'),
    lockEnabled: flag,
    defaultRetention: optional(struct<DefaultRetention>({ mode: word('governance', 'compliance'), days: uint })),
    closing: flag,
  }),
)
