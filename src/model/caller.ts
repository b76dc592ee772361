import type { Actor } from './ledger.ts'

/** Who asks. An account's own key is the root of that account; a user's key has what its policies allow. */
export interface Account {
  /** 12 digits. */
  readonly accountId: string
  /** 64 hexadecimal digits; what ACLs name. */
  readonly canonicalId: string
  readonly displayName: string
  readonly email: string | undefined
}

export interface User {
  readonly name: string
  /** Identity policies as JSON texts, as they were given. */
  readonly policies: readonly string[]
}

export type Caller =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'account'; readonly account: Account; readonly accessKey: string }
  | { readonly kind: 'user'; readonly account: Account; readonly user: User; readonly accessKey: string }

/** An access key as a look-up finds it. */
export interface Credential {
  readonly accessKey: string
  readonly secretKey: string
  readonly account: Account
  /** The user it belongs to; none for the account's own key. */
  readonly user: User | undefined
}

/** What a caller is called where a record keeps who did something: the account's canonical id, and the user's name. */
export function callerName(caller: Caller): string {
  if (caller.kind === 'anonymous') return ANONYMOUS_CANONICAL_ID
  const { canonicalId } = caller.account
  return caller.kind === 'user' ? `${canonicalId}/${caller.user.name}` : canonicalId
}

/** A caller as the ledger names it. */
export function actorOf(caller: Caller, request: string): Actor {
  if (caller.kind === 'anonymous') return { account: 'anonymous', request }
  const { accessKey } = caller
  const account = caller.account.accountId
  if (caller.kind === 'user') return { account, user: caller.user.name, accessKey, request }
  return { account, accessKey, request }
}

/** What objects written without a signature are owned by. */
export const ANONYMOUS_CANONICAL_ID = '65a011a29cdf8ec533ec3d1ccaae921c'
