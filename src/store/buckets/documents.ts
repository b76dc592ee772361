/**
 * Bucket documents that are too large or too rarely needed for the bucket record: policy, CORS rules, lifecycle and so
 * on. The bucket record lists the documents that exist, so absent ones cost no read. Texts are stored as given.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { BadRecord, bytes, type Codec, format, type RecordFormat, text } from '../../lib/codec.ts'
import { META_LIMITS } from '../../meta/meta.ts'
import { bucketFormat } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { LifecycleRule } from '../../rules/lifecycle.ts'
import { recordKey } from '../commit/record-keys.ts'
import { bucketForWrite, transact } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'

/** Longer texts are deflated: large rule sets are repetitive and must fit into one record. */
const PACKED_FROM = 16 * 1024
const UNPACKED_BYTES_MAX = 4 * 2 ** 20

function unpacked(packed: Buffer): string {
  try {
    return inflateRawSync(packed, { maxOutputLength: UNPACKED_BYTES_MAX }).toString('utf8')
  } catch {
    throw new BadRecord('holds a compressed document that cannot be inflated')
  }
}

const packedText: Codec<string> = {
  write: (w, v) => bytes.write(w, deflateRawSync(v)),
  read: r => unpacked(bytes.read(r)),
  skip: r => bytes.skip(r),
}

const plain = format<string>('M1', text)
const packed = format<string>('M2', packedText, plain)

export const documentFormat: RecordFormat<string> = {
  encode: document => (document.length < PACKED_FROM ? plain : packed).encode(document),
  decode: packed.decode,
}

function recordOf(document: string): Buffer {
  const record = documentFormat.encode(document)
  const { valueBytesMax } = META_LIMITS
  if (record.length <= valueBytesMax) return record
  throw new Fault('MaxMessageLengthExceeded', { reason: 'The document is too long to be stored.' })
}

export class Documents {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  async get(bucket: string, name: string): Promise<string | undefined> {
    const entry = await this.#context.meta.get(recordKey.document(bucket, name))
    return entry === undefined ? undefined : documentFormat.decode(entry.value)
  }

  async lifecycleRules(bucket: string): Promise<readonly LifecycleRule[]> {
    const text = await this.get(bucket, 'lifecycle')
    return text === undefined ? [] : this.#context.lifecycleRules(text)
  }

  async put(bucket: string, name: string, document: string): Promise<void> {
    const value = recordOf(document)
    await transact(this.#context, async tx => {
      const record = await bucketForWrite(tx, bucket)
      const documents = [...new Set([...record.documents, name])].sort()
      tx.put(recordKey.bucket(bucket), bucketFormat.encode({ ...record, documents }))
      tx.put(recordKey.document(bucket, name), value)
    })
  }

  remove(bucket: string, name: string): Promise<void> {
    return transact(this.#context, async tx => {
      const record = await bucketForWrite(tx, bucket)
      if (!record.documents.includes(name)) return
      const documents = record.documents.filter(other => other !== name)
      tx.put(recordKey.bucket(bucket), bucketFormat.encode({ ...record, documents }))
      tx.remove(recordKey.document(bucket, name))
    })
  }
}
