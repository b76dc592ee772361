/**
 * Reads everything that is stored and verifies its checksums: every record, and every byte of every blob. Damage is
 * reported with the affected objects; nothing is repaired or hidden.
 */
import { DamagedBlob } from '../blobs/blobs.ts'
import { EMPTY, keySuccessor } from '../lib/bytes.ts'
import { BadRecord } from '../lib/codec.ts'
import type { Entry } from '../meta/meta.ts'
import { blobFormat } from '../model/content.ts'
import { unguarded } from '../store/commit/lost-record-guard.ts'
import { parseRecordKey, recordKey } from '../store/commit/record-keys.ts'
import type { StoreContext } from '../store/store-context.ts'
import { type DamageImpact, damageImpact } from './damage-impact.ts'
import type { Pace } from './findings.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import { FORMATS, readPage } from './records.ts'

const RECORDS_PER_STEP = 256
/** A step ends after the blob that exceeds this. */
const BYTES_PER_STEP = 64 * 2 ** 20

export interface Damage extends DamageImpact {
  readonly what: 'blob' | 'record'
  /** Blob id or record key in hexadecimal. */
  readonly id: string
  readonly message: string
}

export class Scrubber implements MaintenanceStep {
  readonly #context: StoreContext
  readonly #pace: Pace
  #cursor = EMPTY
  #found: { what: Damage['what']; id: string; message: string }[] = []
  records = 0
  bytes = 0

  /** `pace` is called after every piece of a blob. */
  constructor(context: StoreContext, pace: Pace = () => {}) {
    this.#context = unguarded(context)
    this.#pace = pace
  }

  /** Checks some records and the bytes they reference. Idle at the end of a round. */
  async step(): Promise<'busy' | 'idle'> {
    const page = await readPage(this.#context, { start: this.#cursor, end: undefined }, RECORDS_PER_STEP)
    const stopAt = this.bytes + BYTES_PER_STEP
    for (const entry of page.entries) {
      this.records++
      await this.#check(entry)
      if (this.bytes < stopAt) continue
      this.#cursor = keySuccessor(entry.key)
      return 'busy'
    }
    const { damaged } = page
    if (damaged !== undefined) this.#record('record', damaged.key.toString('hex'), damaged.message)
    this.#cursor = page.next ?? EMPTY
    return page.next === undefined ? 'idle' : 'busy'
  }

  async #check(entry: Entry): Promise<void> {
    const kind = String.fromCharCode(entry.key[0]!)
    try {
      const format = FORMATS[kind]
      // Records about the store itself have no common format; their checksum was verified by the read.
      if (kind === 'x') return
      if (format === undefined) throw new BadRecord('is of an unknown kind')
      format.decode(entry.value)
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error
      this.#record('record', entry.key.toString('hex'), error.message)
      return
    }
    if (kind === 'b') await this.#checkBlob(entry)
  }

  async #checkBlob(entry: Entry): Promise<void> {
    const id = entry.key.subarray(1)
    // Entered as a reader: a blob may be removed or moved at any time, which is not damage.
    const { readers, blobs } = this.#context
    const pin = readers.enter()
    try {
      const now = await this.#context.meta.get(recordKey.blob(id))
      if (now === undefined) return
      const record = blobFormat.decode(now.value)
      const location = { ...record, length: record.storedLength }
      for await (const chunk of blobs.read(id, location, 0, location.length)) {
        this.bytes += chunk.length
        await this.#pace()
      }
    } catch (error) {
      // An unreadable sector is damage too.
      if (!(error instanceof DamagedBlob) && (error as NodeJS.ErrnoException).code !== 'EIO') throw error
      this.#record('blob', id.toString('hex'), (error as Error).message)
    } finally {
      readers.leave(pin)
    }
  }

  #record(what: Damage['what'], id: string, message: string): void {
    this.#found.push({ what, id, message })
  }

  /** Damage found since the last report, with the affected objects. */
  async report(): Promise<readonly Damage[]> {
    const found = this.#found
    this.#found = []
    const out: Damage[] = []
    for (const damage of found) out.push({ ...damage, ...(await this.#impactOf(damage)) })
    return out
  }

  async #impactOf(damage: { what: Damage['what']; id: string }): Promise<DamageImpact> {
    if (damage.what === 'blob') return damageImpact(this.#context, new Set([damage.id]))
    const key = Buffer.from(damage.id, 'hex')
    const kind = String.fromCharCode(key[0]!)
    if (kind === 'b' || kind === 'c' || kind === 's') {
      return damageImpact(this.#context, new Set([key.toString('hex', 1, 17)]))
    }
    if (kind !== 'o' && kind !== 'v') return { objects: [], parts: [] }
    const { bucket, name } = parseRecordKey(key)
    return { objects: [{ bucket, key: name, versionId: kind === 'o' ? 'current' : 'unknown' }], parts: [] }
  }
}
