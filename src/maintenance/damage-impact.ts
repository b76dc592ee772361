/** Finds the objects affected by damage. Scans all records, so it runs only when something is damaged. */
import { pageFormat, type Slice } from '../model/content.ts'
import { partFormat } from '../model/upload.ts'
import { versionFormat } from '../model/version-record.ts'
import { parseRecordKey } from '../store/commit/record-keys.ts'
import type { StoreContext } from '../store/store-context.ts'
import { recordsOf, referencesOf } from './records.ts'

interface AffectedObject {
  readonly bucket: string
  readonly key: string
  readonly versionId: string
}

export interface DamageImpact {
  readonly objects: readonly AffectedObject[]
  /** Parts of uploads in progress: upload id and part number. */
  readonly parts: readonly { readonly uploadId: string; readonly number: number }[]
}

/** `ids`: damaged blobs, contents or pages, by id in hexadecimal. */
export async function damageImpact(context: StoreContext, ids: ReadonlySet<string>): Promise<DamageImpact> {
  const damaged = new Set(ids)
  const isAffected = (slices: readonly Slice[]): boolean => slices.some(slice => damaged.has(slice.id.toString('hex')))
  // Contents may reference contents, so the search repeats until it finds no more.
  for (let before = -1; before !== damaged.size; ) {
    before = damaged.size
    for await (const entry of recordsOf(context, 's')) {
      const affected = pageFormat.decode(entry.value).some(part => isAffected(part.slices))
      if (affected) damaged.add(entry.key.toString('hex', 1, 17))
    }
  }
  const objects: AffectedObject[] = []
  for (const kind of ['o', 'v']) {
    for await (const entry of recordsOf(context, kind)) {
      const version = versionFormat.decode(entry.value)
      const { slices, content } = referencesOf(version)
      if (!isAffected(slices) && !(content !== undefined && damaged.has(content.toString('hex')))) continue
      const { bucket, name } = parseRecordKey(entry.key)
      objects.push({ bucket, key: name, versionId: version.id })
    }
  }
  const parts: { uploadId: string; number: number }[] = []
  for await (const entry of recordsOf(context, 'p')) {
    const part = partFormat.decode(entry.value)
    if (isAffected(part.slices)) parts.push({ uploadId: entry.key.toString('hex', 1, 17), number: part.number })
  }
  return { objects, parts }
}
