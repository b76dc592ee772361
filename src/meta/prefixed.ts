/** The same records inside a key prefix: several independent key spaces in one engine. */
import { afterPrefix } from '../lib/bytes.ts'
import type { Entry, Meta } from './meta.ts'

export function prefixed(meta: Meta, prefix: Buffer): Meta {
  const outer = (key: Buffer): Buffer => Buffer.concat([prefix, key])
  const inner = (entry: Entry): Entry => ({ ...entry, key: entry.key.subarray(prefix.length) })
  return {
    async get(key) {
      const entry = await meta.get(outer(key))
      return entry && inner(entry)
    },
    async scan({ start, end }, limit, reverse) {
      const range = { start: outer(start), end: end === undefined ? afterPrefix(prefix) : outer(end) }
      return (await meta.scan(range, limit, reverse)).map(inner)
    },
    commit: ({ checks, writes }) =>
      meta.commit({
        checks: checks.map(check => ({ ...check, key: outer(check.key) })),
        writes: writes.map(write => ({ ...write, key: outer(write.key) })),
      }),
    close: () => meta.close(),
  }
}
