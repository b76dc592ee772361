/** Which objects a damaged piece hurts. Walks everything, so it is asked only when something is damaged. */
import { pageFormat, type Slice } from '../model/content.ts'
import { partFormat } from '../model/upload.ts'
import { versionFormat } from '../model/version-record.ts'
import { parseRecordKey } from '../store/commit/record-keys.ts'
import type { StoreContext } from '../store/store-context.ts'
import { recordsOf, referencesOf } from './records.ts'

export interface AffectedObject {
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
  const bad = new Set(ids)
  const touches = (slices: readonly Slice[]): boolean => slices.some(slice => bad.has(slice.id.toString('hex')))
  // Contents may be made of contents: go on until no more are found.
  for (let before = -1; before !== bad.size; ) {
    before = bad.size
    for await (const entry of recordsOf(context, 's')) {
      const hurt = pageFormat.decode(entry.value).some(part => touches(part.slices))
      if (hurt) bad.add(entry.key.toString('hex', 1, 17))
    }
  }
  const objects: AffectedObject[] = []
  for (const kind of ['o', 'v']) {
    for await (const entry of recordsOf(context, kind)) {
      const version = versionFormat.decode(entry.value)
      const { slices, content } = referencesOf(version)
      if (!touches(slices) && !(content !== undefined && bad.has(content.toString('hex')))) continue
      const { bucket, name } = parseRecordKey(entry.key)
      objects.push({ bucket, key: name, versionId: version.id })
    }
  }
  const parts: { uploadId: string; number: number }[] = []
  for await (const entry of recordsOf(context, 'p')) {
    const part = partFormat.decode(entry.value)
    if (touches(part.slices)) parts.push({ uploadId: entry.key.toString('hex', 1, 17), number: part.number })
  }
  return { objects, parts }
}
