/** What holds and retention have in common. */
import { Fault } from '../../model/faults.ts'
import type { OperationScope } from '../context.ts'

/** D7, R113. Asked before anything about the object: without locks on the bucket the key makes no difference. */
export function needLocks({ bucket, behavior: ways }: OperationScope): void {
  if (bucket.lockEnabled) return
  const code = ways.locks.bucketWithout
  if (code === 'InvalidRequest') throw new Fault(code, { reason: 'Bucket is missing Object Lock Configuration' })
  throw new Fault(code, { BucketName: bucket.name })
}
