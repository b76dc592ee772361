/** Whether a bucket policy is public: it allows callers beyond named ones (G8). */
import { Fault } from '../../model/faults.ts'
import { type Condition, isFixed } from './conditions.ts'
import type { Policy, Statement } from './policy.ts'

/** An address range with a shorter prefix counts as public. */
const V4_BITS_MIN = 8
const V6_BITS_MIN = 32

/** A fixed value of these keys restricts a statement to known callers. Those without a value here admit no caller. */
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
  return policy.statements.some(isPublicStatement)
}

/** Indexes of the statements that make a policy public. */
export const publicStatements = ({ statements }: Policy): number[] =>
  [...statements.keys()].filter(index => isPublicStatement(statements[index]!))

/** BlockPublicPolicy refuses to store a public policy. */
export function checkPolicyNotPublic(policy: Policy, blockPublicPolicy: boolean): void {
  if (blockPublicPolicy && isPublicPolicy(policy)) throw new Fault('AccessDenied')
}

function isPublicStatement({ effect, principals, conditions }: Statement): boolean {
  if (effect !== 'Allow') return false
  return principals!.of.some(principal => principal.kind === 'everyone') && !conditions.some(restrictsCaller)
}

/** Only a comparison with fixed values that fails for callers without the key restricts the statement. */
function restrictsCaller({ key, operator, quantifier, ifExists, values }: Condition): boolean {
  if (operator.negated || ifExists || quantifier === 'all') return false
  if (key === 'sourceip') return operator.family === 'address' && values.every(isSmallRange)
  if (!CALLER_KEYS.includes(key)) return false
  return ['string', 'like', 'arn'].includes(operator.family) && values.every(isFixed)
}

function isSmallRange(value: Condition['values'][number]): boolean {
  if (value.kind !== 'range') return false
  return value.range.bits >= (value.range.family === 'ipv4' ? V4_BITS_MIN : V6_BITS_MIN)
}
