/** The target of a bucket's access log. The target bucket must grant delivery; each delivery checks that again. */
import { parseXml } from '../../lib/xml-reader.ts'
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { mayDeliverLogs } from '../../rules/access/log-delivery.ts'
import { type Logging, loggingDocument, readLogging } from '../../rules/documents/logging.ts'
import { documentText } from '../../rules/documents/tree.ts'
import { Accounts } from '../../store/identity/accounts.ts'
import type { Store } from '../../store/store.ts'
import { type DocumentKind, storedAs } from './document.ts'

const LOGGING = 'logging'
const stored = storedAs(LOGGING)

const readText = (text: string): Logging | undefined => readLogging(parseXml(text))

const unfit = (target: string, reason: string): Fault =>
  new Fault('InvalidTargetBucketForLogging', { TargetBucket: target, reason })

async function targetOf(store: Store, source: Bucket, { targetBucket, targetPrefix }: Logging): Promise<Bucket> {
  const target = await store.buckets.get(targetBucket).catch((error: unknown) => {
    throw error instanceof Fault ? unfit(targetBucket, 'The target bucket for logging does not exist') : error
  })
  // A caller learns nothing about another owner's bucket except that it is not a valid target.
  if (target.owner !== source.owner) throw unfit(targetBucket, 'The target bucket must have the same owner')
  if (target.defaultRetention !== undefined) throw unfit(targetBucket, 'The target bucket retains every object')
  const policy = target.documents.includes('policy') ? await store.documents.get(targetBucket, 'policy') : undefined
  const account = policy === undefined ? undefined : await new Accounts(store.context).holderOf(source.owner)
  if (mayDeliverLogs({ target, key: targetPrefix, source: source.name, account }, policy)) return target
  throw unfit(targetBucket, 'You must give the log-delivery group WRITE and READ_ACP permissions to the target bucket')
}

export const logging: DocumentKind<Logging | undefined> = {
  query: LOGGING,
  get: { name: 'GetBucketLogging', needs: 'GetBucketLogging' },
  put: { name: 'PutBucketLogging', needs: 'PutBucketLogging' },
  // Without a target the document is empty, so this is never returned.
  absent: 'InternalError',
  async show(ctx) {
    const text = await stored.text(ctx)
    return loggingDocument(text === undefined ? undefined : readText(text))
  },
  read: readLogging,
  async keep(ctx, wanted) {
    if (wanted === undefined) return stored.remove(ctx)
    await targetOf(ctx.store, ctx.bucket, wanted)
    await stored.put(ctx, documentText(loggingDocument(wanted)))
  },
}

interface LogTarget {
  readonly bucket: Bucket
  readonly prefix: string
}

/** The current log target of a bucket, if any. A target that no longer grants delivery is a fault. */
export async function logTarget(store: Store, bucket: string): Promise<LogTarget | undefined> {
  const source = await store.buckets.get(bucket)
  const text = source.documents.includes(LOGGING) ? await store.documents.get(bucket, LOGGING) : undefined
  const wanted = text === undefined ? undefined : readText(text)
  if (wanted === undefined) return undefined
  return { bucket: await targetOf(store, source, wanted), prefix: wanted.targetPrefix }
}
