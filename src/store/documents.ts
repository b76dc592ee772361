/**
 * Documents of a bucket that are too large, or too seldom needed, to stand in its record: policy, CORS rules, lifecycle
 * and the like. The bucket's record lists which there are, so nobody looks for one in vain. Texts are kept as given.
 */
import { format, text } from '../lib/codec.ts'
import { bucketFormat } from '../model/bucket.ts'
import { at } from './addresses.ts'
import { bucketForWrite } from './bucket-record.ts'
import { decide } from './decision.ts'
import type { Engine } from './engine.ts'

export const documentFormat = format<string>('M1', text)

export class Documents {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  async get(bucket: string, name: string): Promise<string | undefined> {
    const entry = await this.#engine.meta.get(at.document(bucket, name))
    return entry === undefined ? undefined : documentFormat.decode(entry.value)
  }

  put(bucket: string, name: string, document: string): Promise<void> {
    return decide(this.#engine, async d => {
      const record = await bucketForWrite(d, bucket)
      const documents = [...new Set([...record.documents, name])].sort()
      d.put(at.bucket(bucket), bucketFormat.encode({ ...record, documents }))
      d.put(at.document(bucket, name), documentFormat.encode(document))
    })
  }

  remove(bucket: string, name: string): Promise<void> {
    return decide(this.#engine, async d => {
      const record = await bucketForWrite(d, bucket)
      if (!record.documents.includes(name)) return
      const documents = record.documents.filter(other => other !== name)
      d.put(at.bucket(bucket), bucketFormat.encode({ ...record, documents }))
      d.remove(at.document(bucket, name))
    })
  }
}
