/** Policies are stored as the text that was given, and reading one costs more than asking it. */
import { TextMemo } from '../../lib/text-memo.ts'
import { type Policy, readIdentityPolicy, readStoredBucketPolicy } from './policy.ts'

export class PolicyMemo extends TextMemo<Policy> {}

const identityPolicies = new PolicyMemo(readIdentityPolicy)
const bucketPolicies = new PolicyMemo(readStoredBucketPolicy)

export const identityPolicy = (text: string): Policy => identityPolicies.get(text)
export const bucketPolicy = (text: string): Policy => bucketPolicies.get(text)
