/**
 * Conditions that no request answers so far: what they ask about stands in a body, or is not looked at. A denial that
 * depends on one would never apply, so a policy with one is refused instead of accepted and not kept.
 */
import { REQUEST_TAG } from './condition-keys.ts'
import { malformed } from './malformed.ts'
import type { Policy } from './policy.ts'

const UNANSWERED: ReadonlySet<string> = new Set([
  'authtype',
  'locationconstraint',
  'object-lock-remaining-retention-days',
  'requestobjecttagkeys',
  'signatureversion',
])

export function checkAnswerable({ statements }: Policy): void {
  for (const { key } of statements.flatMap(statement => statement.conditions)) {
    if (UNANSWERED.has(key) || key.startsWith(REQUEST_TAG)) throw malformed(`Conditions on ${key} are not offered`)
  }
}
