/** Finds a version by its name, or the current one of a key, for whoever only looks. */
import { after, type Soon, unless } from '../lib/soon.ts'
import { Fault } from '../model/faults.ts'
import { bucketForRead } from './bucket-record.ts'
import { type Deciding, Decision, decide } from './decision.ts'
import type { Located } from './reading.ts'
import { mustLocate, readHead } from './versions.ts'

export interface Which {
  readonly bucket: string
  readonly key: string
  readonly versionId?: string | undefined
}

export function locateIn(d: Decision, which: Which): Soon<Located> {
  return after(bucketForRead(d, which.bucket), bucket =>
    after(readHead(d, bucket, which.key), head => mustLocate(d, head, which.versionId)),
  )
}

/** At once where its records are there at once. */
export function findVersion(engine: Deciding, which: Which): Soon<Located> {
  return unless(
    () => locateIn(new Decision(engine.meta), which),
    error => {
      if (!(error instanceof Fault)) throw error
      // A version that is found was there; one that is not may have changed its place between two reads.
      return decide(engine, async d => locateIn(d, which))
    },
  )
}
