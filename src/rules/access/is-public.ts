/** Whether a bucket policy lets in people whom nobody has named (G8). */
import { Fault } from '../../model/faults.ts'
import { type Condition, isFixed } from './conditions.ts'
import type { Policy, Statement } from './policy.ts'

/** A range of addresses that is larger than this names nobody. */
const V4_BITS_MIN = 8
const V6_BITS_MIN = 32

/** A fixed value of these names somebody. Those that no request has let nobody in at all. */
const CALLER_KEYS: readonly string[] = [
  'dataaccesspointaccount',
  'dataaccesspointarn',
  'principalaccount',
  'principalarn',
  'principalorgid',
  'sourceaccount',
  'sourcearn',
  'sourceowner',
  'sourcevpc',
  'sourcevpce',
]

export function isPublicPolicy(policy: Policy): boolean {
  return policy.statements.some(letsInEveryone)
}

/** BlockPublicPolicy refuses to store such a policy. */
export function checkPolicyNotPublic(policy: Policy, blockPublicPolicy: boolean): void {
  if (blockPublicPolicy && isPublicPolicy(policy)) throw new Fault('AccessDenied')
}

function letsInEveryone({ effect, principals, conditions }: Statement): boolean {
  if (effect !== 'Allow') return false
  return principals!.of.some(principal => principal.kind === 'everyone') && !conditions.some(narrows)
}

/** Only a comparison that fails for callers without the key, and that names fixed ones, keeps strangers out. */
function narrows({ key, operator, quantifier, ifExists, values }: Condition): boolean {
  if (operator.negated || ifExists || quantifier === 'all') return false
  if (key === 'sourceip') return operator.family === 'address' && values.every(isSmallRange)
  if (!CALLER_KEYS.includes(key)) return false
  return ['string', 'like', 'arn'].includes(operator.family) && values.every(isFixed)
}

function isSmallRange(value: Condition['values'][number]): boolean {
  if (value.kind !== 'range') return false
  return value.range.bits >= (value.range.family === 'ipv4' ? V4_BITS_MIN : V6_BITS_MIN)
}
