/**
 * Server access logs: collects a line for every request to a bucket with logging enabled and delivers them as objects
 * to the target bucket. Best effort: lines beyond the buffer, lines that cannot be delivered, and lines of a killed
 * process are lost, and counted where possible.
 */

import type { ExchangeRecord } from '../edge/exchange.ts'
import type { RequestState } from '../edge/request-state.ts'
import type { Bucket } from '../model/bucket.ts'
import { NO_ATTRIBUTES } from '../model/version.ts'
import { logTarget } from '../operations/documents/logging.ts'
import { effectiveEncryption } from '../operations/object/encryption.ts'
import { expandCanned } from '../rules/access/acl.ts'
import type { Store } from '../store/store.ts'
import { accessRecord } from './access-record.ts'
import { labelled, type Sample } from './families.ts'

const WAITING_BYTES_MAX = 16 * 2 ** 20
const UNIQUE_BYTES = 8

export class AccessLog {
  readonly #store: Store
  readonly #onError: (bucket: string, error: unknown) => void
  #lines = new Map<string, string[]>()
  #waitingBytes = 0
  #delivered = 0
  #dropped = 0
  #delivering: Promise<void> = Promise.resolve()

  constructor(store: Store, onError: (bucket: string, error: unknown) => void) {
    this.#store = store
    this.#onError = onError
  }

  /** Called for every request to a bucket with a logging configuration. */
  add(bucket: Bucket, state: RequestState, exchange: ExchangeRecord): void {
    const line = accessRecord(bucket, state, exchange, this.#store.context.clock.now())
    if (this.#waitingBytes + line.length > WAITING_BYTES_MAX) {
      this.#dropped++
      return
    }
    this.#waitingBytes += line.length
    const lines = this.#lines.get(bucket.name)
    if (lines === undefined) this.#lines.set(bucket.name, [line])
    else lines.push(line)
  }

  /** Delivers the lines collected so far. The caller schedules it; deliveries run one after another. */
  deliver(): Promise<void> {
    this.#delivering = this.#delivering.then(() => this.#deliverAll())
    return this.#delivering
  }

  async #deliverAll(): Promise<void> {
    const taken = this.#lines
    this.#lines = new Map()
    for (const [bucket, lines] of taken) {
      const text = lines.join('')
      try {
        const isDelivered = await this.#put(bucket, text)
        if (isDelivered) this.#delivered += lines.length
        else this.#dropped += lines.length
      } catch (error) {
        this.#dropped += lines.length
        this.#onError(bucket, error)
      }
      this.#waitingBytes -= text.length
    }
  }

  /** False when the source no longer has a valid target. */
  async #put(source: string, text: string): Promise<boolean> {
    const store = this.#store
    const target = await logTarget(store, source)
    if (target === undefined) return false
    const { bucket, prefix } = target
    const { clock, random } = store.context
    const time = new Date(clock.now()).toISOString().slice(0, 19).replace(/[T:]/g, '-')
    const unique = random.bytes(UNIQUE_BYTES).toString('hex').toUpperCase()
    const encryption = await effectiveEncryption({ bucket, store }, undefined)
    await store.objects.put({
      bucket: bucket.name,
      key: `${prefix}${time}-${unique}`,
      owner: bucket.owner,
      body: [Buffer.from(text)],
      attributes: {
        ...NO_ATTRIBUTES,
        headers: [['content-type', 'text/plain']],
        grants: expandCanned('private', { owner: bucket.owner, bucketOwner: bucket.owner }),
      },
      ...(encryption === undefined ? {} : { encryption }),
    })
    return true
  }

  samples(): Sample[] {
    return [
      ['holdfast_access_log_records_total', labelled({ result: 'delivered' }), this.#delivered],
      ['holdfast_access_log_records_total', labelled({ result: 'dropped' }), this.#dropped],
    ]
  }
}
