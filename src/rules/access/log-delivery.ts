/** Whether access logs may be put into a bucket: its owner says so by its list, or by a statement for the service. */
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { effectiveAcl } from './acl.ts'
import type { ConditionContext } from './condition-keys.ts'
import { bucketArn, LOGGING_SERVICES } from './names.ts'
import type { Policy, Statement } from './policy.ts'
import { bucketPolicy } from './policy-cache.ts'
import { applying, NONE_DEFERRED } from './statements.ts'

const namesService = ({ principals }: Statement): boolean =>
  principals?.of.some(principal => principal.kind === 'service' && principal.name === 'logging') === true

/** Who delivers is no caller: a statement that names the service is read as one about everybody. */
function asTheService({ statements }: Policy): Policy {
  return {
    statements: statements.map(statement =>
      namesService(statement)
        ? { ...statement, principals: { except: statement.principals!.except, of: [{ kind: 'everyone' }] } }
        : statement,
    ),
  }
}

/** What the service alone may by a policy: that everybody may is no wish for logs. */
const forTheService = (policy: Policy): Policy => ({ statements: policy.statements.filter(namesService) })

function byAcl({ owner, ownership, grants: listed }: Bucket): boolean {
  const { grants } = effectiveAcl({ ownerCanonicalId: owner, grants: listed }, ownership ?? 'ObjectWriter', owner)
  const has = (permission: string): boolean =>
    grants.some(
      grant =>
        grant.group && grant.grantee === 'LogDelivery' && ['FULL_CONTROL', permission].includes(grant.permission),
    )
  return has('WRITE') && has('READ_ACP')
}

/** The source and target buckets of a log delivery. */
export interface Delivery {
  readonly target: Bucket
  readonly key: string
  /** The bucket whose log it is. */
  readonly source: string
  /** The account that owns both; undefined when there is none any more. */
  readonly account: string | undefined
}

/** Condition values that a statement for the service principal may test: the bucket and account logged. */
const contextOf = ({ source, account }: Delivery): ConditionContext =>
  new Map<string, readonly string[]>([
    ['principalisawsservice', ['true']],
    ['principalservicename', [LOGGING_SERVICES[0]!]],
    ['securetransport', ['true']],
    ['sourcearn', [bucketArn(source)]],
    ...(account === undefined
      ? []
      : ([
          ['resourceaccount', [account]],
          ['sourceaccount', [account]],
        ] as const)),
  ])

/** `policy` is the target's, as it was given. */
export function mayDeliverLogs(delivery: Delivery, policy: string | undefined): boolean {
  const { target, key } = delivery
  if (policy === undefined) return byAcl(target)
  const question = {
    caller: { kind: 'anonymous' },
    action: 'PutObject',
    resource: `${target.name}/${key}`,
    context: contextOf(delivery),
    untold: NONE_DEFERRED,
  } as const
  try {
    const read = bucketPolicy(policy)
    if (applying(asTheService(read), 'Deny', question).length > 0) return false
    return byAcl(target) || applying(asTheService(forTheService(read)), 'Allow', question).length > 0
  } catch (error) {
    // It was accepted once, so this is damage: what it denied cannot be known.
    if (error instanceof Fault) return false
    throw error
  }
}
