/** P32. Lists held versions with their digests, so that two states can be compared. */
import { createHash } from 'node:crypto'
import type { Version } from '../model/version.ts'
import { versionFormat } from '../model/version-record.ts'
import { parseRecordKey } from '../store/commit/record-keys.ts'
import { readContent } from '../store/content/read-content.ts'
import { contentKeyOf } from '../store/keys/content-keys.ts'
import type { StoreContext } from '../store/store-context.ts'
import { recordsOf } from './records.ts'

export interface VersionOnHold {
  /** bucket/key@version. */
  readonly name: string
  /** Undefined when the bytes need a customer's key or cannot be read. */
  readonly sha256: string | undefined
}

export async function versionsOnHold(context: StoreContext): Promise<VersionOnHold[]> {
  const out: VersionOnHold[] = []
  for (const kind of ['o', 'v']) {
    for await (const entry of recordsOf(context, kind)) {
      const version = versionFormat.decode(entry.value)
      if (version.lock.hold !== true) continue
      const { bucket, name } = parseRecordKey(entry.key)
      out.push({ name: `${bucket}/${name}@${version.id}`, sha256: await digestOf(context, version) })
    }
  }
  return out.sort((a, b) => (a.name < b.name ? -1 : 1))
}

async function digestOf(context: StoreContext, { encryption, content, size }: Version): Promise<string | undefined> {
  if (encryption?.by === 'customer') return undefined
  const hash = createHash('sha256')
  try {
    const contentKey = await contentKeyOf(context, encryption, undefined)
    for await (const chunk of readContent(context, content, contentKey, 0, size)) hash.update(chunk)
    return hash.digest('hex')
  } catch {
    // The scrubber reports the damage with everything it affects.
    return undefined
  }
}
