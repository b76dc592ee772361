/** Policies are stored as text, and parsing one costs more than evaluating it. */
import { ParseCache } from '../../lib/parse-cache.ts'
import { type Policy, readIdentityPolicy, readStoredBucketPolicy } from './policy.ts'

export class PolicyCache extends ParseCache<Policy> {}

const identityPolicies = new PolicyCache(readIdentityPolicy)
const bucketPolicies = new PolicyCache(readStoredBucketPolicy)

export const identityPolicy = (text: string): Policy => identityPolicies.get(text)
export const bucketPolicy = (text: string): Policy => bucketPolicies.get(text)
