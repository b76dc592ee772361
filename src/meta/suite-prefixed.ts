/** The same engine below a key prefix: several independent key spaces in one engine. */
import { prefixSuccessor } from '../lib/bytes.ts'
import type { Entry, EntryView, KeyRange, Meta } from './meta.ts'

export function prefixed(meta: Meta, prefix: Buffer): Meta {
  const outer = (key: Buffer): Buffer => Buffer.concat([prefix, key])
  const inner = (entry: Entry): Entry => ({ ...entry, key: entry.key.subarray(prefix.length) })
  const innerView = ({ key, value, stamp }: EntryView): EntryView => ({
    key: { ...key, start: key.start + prefix.length },
    value,
    stamp,
  })
  const outerRange = ({ start, end }: KeyRange): KeyRange => ({
    start: outer(start),
    end: end === undefined ? prefixSuccessor(prefix) : outer(end),
  })
  return {
    async get(key) {
      const entry = await meta.get(outer(key))
      return entry && inner(entry)
    },
    scan: async (range, limit, reverse) => (await meta.scan(outerRange(range), limit, reverse)).map(inner),
    scanMap: (range, limit, make, verify) =>
      meta.scanMap(
        outerRange(range),
        limit,
        (entry, i, isVerified) => make(innerView(entry), i, isVerified),
        verify && (entry => verify(innerView(entry))),
      ),
    commit: ({ checks, writes }) =>
      meta.commit({
        checks: checks.map(check => ({ ...check, key: outer(check.key) })),
        writes: writes.map(write => ({ ...write, key: outer(write.key) })),
      }),
    close: () => meta.close(),
  }
}
