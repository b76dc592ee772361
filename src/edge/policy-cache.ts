import { ParseCache } from '../lib/parse-cache.ts'
import type { PolicyParser } from '../rules/access/evaluate.ts'
import { type Policy, readIdentityPolicy, readStoredBucketPolicy } from '../rules/access/policy.ts'

/** Policies are stored as text, and parsing one costs more than evaluating it. */
export class PolicyCache implements PolicyParser {
  readonly #identity = new ParseCache(readIdentityPolicy)
  readonly #bucket = new ParseCache(readStoredBucketPolicy)

  identity(text: string): Policy {
    return this.#identity.get(text)
  }

  bucket(text: string): Policy {
    return this.#bucket.get(text)
  }
}
