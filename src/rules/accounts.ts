/** Limits and naming rules of accounts, users and keys. */
import { Fault } from '../model/faults.ts'
import { readIdentityPolicy } from './access/policy.ts'

export const ACCOUNT_LIMITS = {
  /** All accounts are held in memory, since they are looked up wherever an owner or a grantee is shown. */
  accountsMax: 10_000,
  usersPerAccountMax: 5_000,
  /** For an account itself, or for one user. */
  keysPerOwnerMax: 50,
  policiesPerUserMax: 10,
  /** Sum over one user's policies, so that its record fits any engine. */
  policyBytesPerUserMax: 64 * 1024,
} as const

function check(value: string, shape: RegExp, name: string, wanted: string): void {
  if (!shape.test(value)) throw new Fault('InvalidArgument', { ArgumentName: name, reason: `${name} is not ${wanted}` })
}

const PLAIN = /^[^\p{Cc}\p{Cs}]{1,256}$/u

export const checkAccountId = (value: string): void => check(value, /^\d{12}$/, 'accountId', '12 digits')

export const checkCanonicalId = (value: string): void =>
  check(value, /^[0-9a-f]{64}$/, 'canonicalId', '64 hexadecimal digits')

export const checkDisplayName = (value: string): void =>
  check(value, PLAIN, 'displayName', '1 to 256 characters without control characters')

export const checkEmail = (value: string): void =>
  check(value, /^(?=.{3,254}$)[^\s@<>\p{Cc}]+@[^\s@<>\p{Cc}]+$/u, 'email', 'an e-mail address')

/** Excludes characters that delimit a name in a signature, a policy or a URL. */
export const checkUserName = (value: string): void =>
  check(value, /^[\w+=,.@-]{1,128}$/, 'name', '1 to 128 letters, digits or any of +=,.@_-')

export const checkPolicyName = (value: string): void =>
  check(value, /^[\w+=,.@-]{1,128}$/, 'policy name', '1 to 128 letters, digits or any of +=,.@_-')

export const checkAccessKey = (value: string): void =>
  check(value, /^[\w.+@~-]{3,128}$/, 'accessKey', '3 to 128 letters, digits or any of ._+@~-')

export const checkSecretKey = (value: string): void =>
  check(value, PLAIN, 'secretKey', '1 to 256 characters without control characters')

/** Each policy of a user must parse, and together they must fit the limits. */
export function checkPolicies(documents: readonly string[]): void {
  const { policiesPerUserMax, policyBytesPerUserMax } = ACCOUNT_LIMITS
  if (documents.length > policiesPerUserMax) {
    throw new Fault('LimitExceeded', { reason: `A user can have at most ${policiesPerUserMax} policies.` })
  }
  for (const document of documents) readIdentityPolicy(document)
  const size = documents.reduce((sum, document) => sum + Buffer.byteLength(document), 0)
  if (size > policyBytesPerUserMax) {
    throw new Fault('LimitExceeded', {
      reason: `A user's policies can have at most ${policyBytesPerUserMax} bytes in total.`,
    })
  }
}
