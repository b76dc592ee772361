/** Counts the usage of buckets during fsck's scan of all records, and compares it with the recorded counters. */
import { DamagedRecord } from '../meta/meta.ts'
import { bucketFormat } from '../model/bucket.ts'
import { noUsage, type UsageDelta } from '../model/usage.ts'
import type { Version } from '../model/version.ts'
import type { StoreContext } from '../store/store-context.ts'
import { usageDifference, usageDiffers, usageOf } from '../store/usage/usage.ts'
import type { Findings } from './findings.ts'
import { recordsOf } from './records.ts'

export class UsageCount {
  /** By bucket name, since versions and uploads are stored under it. */
  readonly #counted = new Map<string, UsageDelta>()

  #of(bucket: string): UsageDelta {
    const known = this.#counted.get(bucket)
    if (known !== undefined) return known
    const usage = noUsage()
    this.#counted.set(bucket, usage)
    return usage
  }

  version(bucket: string, { marker, size }: Version, isCurrent: boolean): void {
    const usage = this.#of(bucket)
    if (marker) usage.deleteMarkers++
    else {
      usage.versions++
      usage.versionBytes += size
    }
    if (!isCurrent) return
    usage.objects++
    usage.bytes += size
  }

  upload(bucket: string): void {
    this.#of(bucket).uploads++
  }

  /** `bucket` is undefined for a part whose upload has ended. */
  part(bucket: string | undefined, size: number): void {
    if (bucket !== undefined) this.#of(bucket).uploadBytes += size
  }

  async compare(context: StoreContext, findings: Findings): Promise<{ wrong: string[]; uncounted: string[] }> {
    const wrong: string[] = []
    const uncounted: string[] = []
    for await (const entry of recordsOf(context, 'B')) {
      const { id, name } = bucketFormat.decode(entry.value)
      try {
        const recorded = await usageOf(context.meta, { id })
        const counted = this.#of(name)
        if (recorded === undefined) uncounted.push(name)
        else if (usageDiffers(recorded, counted)) {
          wrong.push(name)
          findings.problem(`usage of bucket ${name}: ${usageDifference(recorded, counted)}`)
        }
      } catch (error) {
        if (!(error instanceof DamagedRecord)) throw error
        wrong.push(name)
        findings.problem(error.message)
      }
    }
    return { wrong, uncounted }
  }
}
