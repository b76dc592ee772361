/**
 * The caller of a request. An account's own key has all permissions of the account; a user's key has those its policies
 * allow.
 */
export interface Account {
  /** 12 digits. */
  readonly accountId: string
  /** 64 hexadecimal digits, as used in ACLs. */
  readonly canonicalId: string
  readonly displayName: string
  readonly email: string | undefined
}

export interface User {
  readonly name: string
  /** Identity policies as JSON texts, as given. */
  readonly policies: readonly string[]
}

export type Caller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'account'; readonly account: Account; readonly accessKey: string }
  | { readonly kind: 'user'; readonly account: Account; readonly user: User; readonly accessKey: string }

/** The result of an access key lookup. */
export interface Credential {
  readonly accessKey: string
  readonly secretKey: string
  readonly account: Account
  /** The user the key belongs to; undefined for the account's own key. */
  readonly user: User | undefined
}

/** A caller's name in records: the account's canonical id and the user's name. */
export function callerName(caller: Caller): string {
  if (caller.kind === 'anonymous') return ANONYMOUS_CANONICAL_ID
  const { canonicalId } = caller.account
  return caller.kind === 'user' ? `${canonicalId}/${caller.user.name}` : canonicalId
}

/** The owner of objects written without a signature. */
export const ANONYMOUS_CANONICAL_ID = '65a011a29cdf8ec533ec3d1ccaae921c'
