/** Selects the statements of a policy that apply to a request. */
import type { Caller } from '../../model/caller.ts'
import type { Action } from './actions.ts'
import type { ConditionContext } from './condition-keys.ts'
import { holds } from './conditions.ts'
import { foldCase } from './fold-case.ts'
import type { Choice, Policy, Principal, Statement } from './policy.ts'
import { resolve, type Template, templateMatches } from './template.ts'
import { matches } from './wildcard.ts'

export interface PolicyQuery {
  readonly caller: Caller
  readonly action: Action
  /** `bucket` or `bucket/key`; `*` for actions on no bucket. */
  readonly resource: string
  readonly context: ConditionContext
  readonly deferred: DeferredKeys
}

/** Condition keys whose values are not known yet, and what to assume about them. */
export interface DeferredKeys {
  /** A key that ends with a slash stands for all keys with that prefix. */
  readonly keys: readonly string[]
  /** Assume the outcome that allows the caller, the one that denies it, or that every such condition matches. */
  readonly assume: 'allow' | 'deny' | 'match'
}

export const NONE_DEFERRED: DeferredKeys = { keys: [], assume: 'allow' }

/**
 * How a statement reaches the caller. `account` means that it names the caller's account and not the user: it
 * delegates the permission to the account, whose identity policies decide which users have it.
 */
type Reach = 'caller' | 'account'

interface ApplicableStatement {
  readonly statement: Statement
  readonly index: number
  readonly reach: Reach
}

/** The statements of one effect that apply, in the order of the policy. */
export function applicableStatements(
  policy: Policy,
  effect: Statement['effect'],
  question: PolicyQuery,
): ApplicableStatement[] {
  const found: ApplicableStatement[] = []
  for (const [index, statement] of policy.statements.entries()) {
    if (statement.effect !== effect) continue
    const reach = reachOf(statement.principals, question.caller)
    if (reach !== undefined && statementMatches(statement, question)) found.push({ statement, index, reach })
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
    case 'foreign':
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

function statementMatches(statement: Statement, question: PolicyQuery): boolean {
  const { action, resource, deferred } = question
  const isDeny = statement.effect === 'Deny'
  const name = foldCase(action)
  if (!choiceMatches(statement.actions, pattern => matches(pattern, name))) return false
  const { context } = question
  if (!isDeny && statement.resources.except && hasUnresolved(statement.resources, context)) return false
  if (!choiceMatches(statement.resources, template => templateMatches(template, resource, context))) return false
  return statement.conditions.every(condition =>
    isDeferred(condition.key, deferred) ? assumed(deferred, isDeny) : holds(condition, context, isDeny),
  )
}

export const isDeferred = (key: string, { keys }: Pick<DeferredKeys, 'keys'>): boolean =>
  keys.some(one => (one.endsWith('/') ? key.startsWith(one) : key === one))

const assumed = ({ assume }: DeferredKeys, isDeny: boolean): boolean =>
  assume === 'match' || (assume === 'allow' ? !isDeny : isDeny)

const choiceMatches = <T>(choice: Choice<T>, is: (item: T) => boolean): boolean => choice.of.some(is) !== choice.except

const hasUnresolved = (choice: Choice<Template>, context: ConditionContext): boolean =>
  choice.of.some(template => resolve(template, context) === undefined)
