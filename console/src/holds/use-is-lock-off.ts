/** Whether a bucket has Object Lock. */
import { useBucket } from '../api/use-buckets.ts'

/** A caller who may not read the setting learns from the object API whether a lock is possible. */
export const useIsLockOff = (bucket: string): boolean => useBucket(bucket).data?.lockEnabled === false
