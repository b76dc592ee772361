/** Plans a change of many locks before anything is sent. The server decides again for each version. */
import { isWeaker, type Retention } from './retention-choice.ts'

export type ManyAction = 'hold' | 'release' | 'retain' | 'lift'

export interface Target {
  readonly key: string
  readonly versionId: string
  readonly isLatest: boolean
  readonly isHeld: boolean
  readonly retention: Retention | undefined
}

export interface LockOrder {
  readonly action: ManyAction
  /** Only to retain. */
  readonly wanted: Retention | undefined
  readonly bypass: boolean
}

export interface LockPlan {
  readonly todo: readonly Target[]
  /** These are as wanted already, or have nothing to release. */
  readonly unchanged: number
  /** Compliance retention that lasts longer cannot be weakened. */
  readonly longer: number
  /** Governance retention that lasts longer can, but the bypass was not chosen. */
  readonly needsBypass: number
}

type Fate = 'todo' | 'unchanged' | 'longer' | 'needsBypass'

export const isInForce = ({ retention }: Target, now: Date): boolean => retention !== undefined && retention.until > now

function fateOf(target: Target, { action, wanted, bypass }: LockOrder, now: Date): Fate {
  const { isHeld, retention } = target
  if (action === 'hold') return isHeld ? 'unchanged' : 'todo'
  if (action === 'release') return isHeld ? 'todo' : 'unchanged'
  if (retention === undefined || retention.until <= now) return action === 'lift' ? 'unchanged' : 'todo'
  if (action === 'lift') return retention.mode === 'governance' ? 'todo' : 'longer'
  const isSame = wanted?.mode === retention.mode && wanted.until.getTime() === retention.until.getTime()
  if (isSame) return 'unchanged'
  if (!isWeaker(wanted, retention, now)) return 'todo'
  if (retention.mode === 'compliance') return 'longer'
  return bypass ? 'todo' : 'needsBypass'
}

export function lockPlan(targets: readonly Target[], order: LockOrder, now: Date): LockPlan {
  const todo: Target[] = []
  const others = { unchanged: 0, longer: 0, needsBypass: 0 }
  for (const target of targets) {
    const fate = fateOf(target, order, now)
    if (fate === 'todo') todo.push(target)
    else others[fate]++
  }
  return { todo, ...others }
}
