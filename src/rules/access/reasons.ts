import type { Grant } from '../../model/version.ts'

/**
 * The side that lacks a grant. Within an account either side is enough; across accounts both are needed, and `both`
 * means that neither grants.
 */
type Side = 'identity' | 'resource' | 'either' | 'both' | 'writing the object'

const LACKING: Readonly<Record<Side, string>> = {
  identity: 'no policy of the user does (identity side)',
  resource: 'neither the bucket policy nor an ACL does (resource side)',
  either:
    'neither a policy of the user (identity side) nor the bucket policy (resource side) does; one of them is enough',
  both: 'neither a policy of the user (identity side) nor the bucket policy or an ACL (resource side) does; both must',
  'writing the object': 'changing its ACL also requires PutObject, which neither side allows',
}

/** A reason for an access decision, for the audit log and for explanations. */
export type Reason =
  | {
      readonly kind: 'statement'
      readonly policy: 'identity' | 'bucket'
      /** Which of the user's policies; 0 for the bucket's. */
      readonly number: number
      /** Index of the statement in its policy. */
      readonly index: number
      readonly sid: string | undefined
      readonly effect: 'Allow' | 'Deny'
    }
  | { readonly kind: 'grant'; readonly on: 'bucket' | 'object'; readonly index: number; readonly grant: Grant }
  /** The caller uses the account's own key, which no policy of the account limits. */
  | { readonly kind: 'account key' }
  | {
      readonly kind: 'ownership'
      readonly rule:
        | 'resource owner'
        | 'own account'
        | 'anonymous'
        | 'initiator of the upload'
        /** The bucket policy does not apply to objects that the bucket owner does not own. */
        | 'object of another owner'
        /** D29. No policy lets an anonymous caller configure a bucket. */
        | 'anonymous callers configure no bucket'
        /** D29. Only the owner's account may manage a bucket's policy, whatever it allows to others. */
        | 'policy of another account'
    }
  | { readonly kind: 'block'; readonly block: 'RestrictPublicBuckets' | 'IgnorePublicAcls' }
  | { readonly kind: 'nothing allows'; readonly side: Side }
  | { readonly kind: 'unreadable policy' }

/** The error code of a refusal for these reasons. */
export const refusalCode = ([first]: readonly Reason[]): 'AccessDenied' | 'MethodNotAllowed' =>
  first?.kind === 'ownership' && first.rule === 'policy of another account' ? 'MethodNotAllowed' : 'AccessDenied'

/** One line for a log. */
export function describeReason(reason: Reason): string {
  switch (reason.kind) {
    case 'statement': {
      const policy = reason.policy === 'bucket' ? 'bucket policy' : `identity policy ${reason.number}`
      const sid = reason.sid === undefined ? '' : ` (${reason.sid})`
      return `${reason.effect}: ${policy}, statement ${reason.index}${sid}`
    }
    case 'grant':
      return `grant ${reason.index} of the ${reason.on}: ${reason.grant.permission} to ${reason.grant.grantee}`
    case 'ownership':
      return `ownership: ${reason.rule}`
    case 'block':
      return `public access block: ${reason.block}`
    case 'nothing allows':
      return `nothing allows it: ${LACKING[reason.side]}`
    default:
      return reason.kind
  }
}
