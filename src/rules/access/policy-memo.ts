/**
 * Policies are stored as the text that was given, and reading one costs more than asking it. Texts that were read
 * lately are remembered; since reading is a function of the text alone, nobody can tell, except by the time it takes.
 */
import { type Policy, readIdentityPolicy, readStoredBucketPolicy } from './policy.ts'

/** Room for fifty policies of the largest size, or for thousands of the usual one; the rest is read again. */
const CHARACTERS_MAX = 2 ** 20

export class PolicyMemo {
  readonly #read: (text: string) => Policy
  readonly #charactersMax: number
  readonly #known = new Map<string, Policy>()
  #characters = 0

  constructor(read: (text: string) => Policy, charactersMax = CHARACTERS_MAX) {
    this.#read = read
    this.#charactersMax = charactersMax
  }

  get characters(): number {
    return this.#characters
  }

  get(text: string): Policy {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const policy = this.#read(text)
    this.#known.set(text, policy)
    this.#characters += text.length
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= this.#charactersMax) break
      this.#known.delete(oldest)
      this.#characters -= oldest.length
    }
    return policy
  }
}

const identityPolicies = new PolicyMemo(readIdentityPolicy)
const bucketPolicies = new PolicyMemo(readStoredBucketPolicy)

export const identityPolicy = (text: string): Policy => identityPolicies.get(text)
export const bucketPolicy = (text: string): Policy => bucketPolicies.get(text)
