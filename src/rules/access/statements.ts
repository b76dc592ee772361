/** Which statements of which policies apply to a request. */
import type { Caller } from '../../model/caller.ts'
import type { Action } from './actions.ts'
import type { ConditionContext } from './condition-keys.ts'
import { holds } from './conditions.ts'
import { foldCase } from './fold-case.ts'
import type { Choice, Policy, Principal, Statement } from './policy.ts'
import { resolve, type Template, templateMatches } from './template.ts'
import { matches } from './wildcard.ts'

export interface Question {
  readonly caller: Caller
  readonly action: Action
  /** `bucket` or `bucket/key`; `*` for what concerns no bucket. */
  readonly resource: string
  readonly context: ConditionContext
  readonly untold: DeferredKeys
}

/** What is taken for the answer to conditions that nobody can answer yet. */
export interface DeferredKeys {
  /** One that ends with a slash stands for all that begin so. */
  readonly keys: readonly string[]
  /** Whatever lets the caller in, whatever keeps it out, or that every such condition holds. */
  readonly assume: 'for' | 'against' | 'holds'
}

export const NONE_DEFERRED: DeferredKeys = { keys: [], assume: 'for' }

/**
 * How a statement reaches the caller. `account` means that it names the caller's account and not the caller: such a
 * statement hands the right to the account, and what its users get of it is for their own policies to say.
 */
export type Reach = 'caller' | 'account'

export interface Applying {
  readonly statement: Statement
  readonly index: number
  readonly reach: Reach
}

/** The statements of one effect that apply, in the order of the policy. */
export function applying(policy: Policy, effect: Statement['effect'], question: Question): Applying[] {
  const found: Applying[] = []
  for (const [index, statement] of policy.statements.entries()) {
    if (statement.effect !== effect) continue
    const reach = reachOf(statement.principals, question.caller)
    if (reach !== undefined && concerns(statement, question)) found.push({ statement, index, reach })
  }
  return found
}

function reachOf(principals: Statement['principals'], caller: Caller): Reach | undefined {
  if (principals === undefined) return 'caller'
  const reaches = principals.of.map(principal => principalReach(principal, caller))
  if (principals.except) return reaches.every(reach => reach === undefined) ? 'caller' : undefined
  return reaches.find(reach => reach === 'caller') ?? reaches.find(reach => reach === 'account')
}

function principalReach(principal: Principal, caller: Caller): Reach | undefined {
  if (principal.kind === 'everyone') return 'caller'
  if (caller.kind === 'anonymous') return undefined
  const { account } = caller
  const wholeAccount = caller.kind === 'account' ? 'caller' : 'account'
  switch (principal.kind) {
    case 'service':
    case 'elsewhere':
      return undefined
    case 'canonical':
      return principal.canonicalId === account.canonicalId ? wholeAccount : undefined
    case 'account':
      return principal.accountId === account.accountId ? wholeAccount : undefined
    case 'user': {
      const isSame = caller.kind === 'user' && caller.user.name === principal.name
      return isSame && principal.accountId === account.accountId ? 'caller' : undefined
    }
  }
}

function concerns(statement: Statement, question: Question): boolean {
  const { action, resource, untold } = question
  const isDeny = statement.effect === 'Deny'
  const name = foldCase(action)
  if (!chosen(statement.actions, pattern => matches(pattern, name))) return false
  const { context } = question
  if (!isDeny && statement.resources.except && hasUnknown(statement.resources, context)) return false
  if (!chosen(statement.resources, template => templateMatches(template, resource, context))) return false
  return statement.conditions.every(condition =>
    isDeferred(condition.key, untold) ? assumed(untold, isDeny) : holds(condition, context, isDeny),
  )
}

export const isDeferred = (key: string, { keys }: DeferredKeys): boolean =>
  keys.some(one => (one.endsWith('/') ? key.startsWith(one) : key === one))

const assumed = ({ assume }: DeferredKeys, isDeny: boolean): boolean =>
  assume === 'holds' || (assume === 'for' ? !isDeny : isDeny)

const chosen = <T>(choice: Choice<T>, is: (item: T) => boolean): boolean => choice.of.some(is) !== choice.except

const hasUnknown = (choice: Choice<Template>, context: ConditionContext): boolean =>
  choice.of.some(template => resolve(template, context) === undefined)
