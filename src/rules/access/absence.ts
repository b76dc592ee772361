/**
 * Decides whether a caller may learn that a key does not exist: only one who could have listed it. A missing object has
 * no ACL, so only an explicit denial tells whether it could have been read.
 */
import { type AccessRequest, type AccessVerdict, evaluate, unansweredKeys } from './evaluate.ts'
import type { Reason } from './reasons.ts'

/** Condition keys of a listing. Other requests may carry them in their query and must not choose the listing. */
const LISTING_KEYS: readonly string[] = ['prefix', 'delimiter', 'max-keys']

const isOfListing = (key: string): boolean => LISTING_KEYS.includes(key)

/** The listing that would show the key and nothing else. */
function listingOf(request: AccessRequest): AccessRequest {
  const { resource, context, deferred } = request
  return {
    ...request,
    action: 'ListBucket',
    resource: resource.bucket === undefined ? {} : { bucket: resource.bucket },
    object: undefined,
    context: {
      *[Symbol.iterator]() {
        for (const entry of context) if (!isOfListing(entry[0])) yield entry
        if (resource.key !== undefined) yield ['prefix', [resource.key]] as const
      },
    },
    deferred: deferred && { ...deferred, keys: deferred.keys.filter(key => !isOfListing(key)) },
  }
}

const isDenial = (reason: Reason): boolean =>
  reason.kind === 'unreadable policy' || (reason.kind === 'statement' && reason.effect === 'Deny')

export function mayLearnAbsence(request: AccessRequest): AccessVerdict {
  const verdict = evaluate({ ...request, object: undefined })
  if (!verdict.allowed && verdict.reasons.some(isDenial)) return verdict
  return evaluate(listingOf(request))
}

/** Unanswered condition keys that decide whether the caller may learn it. */
export function absenceDependsOn(request: AccessRequest, keys: readonly string[]): string[] {
  const ofListing = keys.filter(key => !isOfListing(key))
  const found = [...unansweredKeys(request, keys, ['Deny']), ...unansweredKeys(listingOf(request), ofListing)]
  return [...new Set(found)].sort()
}
