/**
 * Whether a caller may learn that a key does not exist: only who could have listed it. A missing object has no ACL, so
 * nothing but an explicit denial says whether it could have been read.
 */
import { type AccessRequest, type AccessVerdict, evaluate, unansweredKeys } from './evaluate.ts'
import type { Reason } from './reasons.ts'

/** Keys about a listing. The query of another request may hold them too, and must not choose what would be listed. */
const LISTING_KEYS: readonly string[] = ['prefix', 'delimiter', 'max-keys']

const isOfListing = (key: string): boolean => LISTING_KEYS.includes(key)

/** The listing that would show the key and nothing else. */
function listingOf(request: AccessRequest): AccessRequest {
  const { resource, context, untold } = request
  return {
    ...request,
    action: 'ListBucket',
    resource: resource.bucket === undefined ? {} : { bucket: resource.bucket },
    object: undefined,
    context: {
      *[Symbol.iterator]() {
        for (const said of context) if (!isOfListing(said[0])) yield said
        if (resource.key !== undefined) yield ['prefix', [resource.key]] as const
      },
    },
    untold: untold && { ...untold, keys: untold.keys.filter(key => !isOfListing(key)) },
  }
}

const isDenial = (reason: Reason): boolean =>
  reason.kind === 'unreadable policy' || (reason.kind === 'statement' && reason.effect === 'Deny')

export function mayLearnAbsence(request: AccessRequest): AccessVerdict {
  const asked = evaluate({ ...request, object: undefined })
  if (!asked.allowed && asked.reasons.some(isDenial)) return asked
  return evaluate(listingOf(request))
}

/** Condition keys on which that depends, among those that nobody has answered. */
export function absenceDependsOn(request: AccessRequest, keys: readonly string[]): string[] {
  const ofListing = keys.filter(key => !isOfListing(key))
  const found = [...unansweredKeys(request, keys, ['Deny']), ...unansweredKeys(listingOf(request), ofListing)]
  return [...new Set(found)].sort()
}
