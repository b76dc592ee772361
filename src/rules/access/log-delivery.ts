/** Whether access logs may be delivered to a bucket: by its ACL, or by a statement for the service principal. */
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { effectiveAcl } from './acl.ts'
import type { ConditionContext } from './condition-keys.ts'
import { bucketArn, LOGGING_SERVICES } from './names.ts'
import { type Policy, readStoredBucketPolicy, type Statement } from './policy.ts'
import { applicableStatements, NONE_DEFERRED } from './statements.ts'

const namesService = ({ principals }: Statement): boolean =>
  principals?.of.some(principal => principal.kind === 'service' && principal.name === 'logging') === true

/** The service is no caller, so a statement that names it is evaluated as one about everyone. */
function serviceAsEveryone({ statements }: Policy): Policy {
  return {
    statements: statements.map(statement =>
      namesService(statement)
        ? { ...statement, principals: { except: statement.principals!.except, of: [{ kind: 'everyone' }] } }
        : statement,
    ),
  }
}

/** Keeps the statements that name the service: allowing everyone does not ask for log delivery. */
const serviceStatementsOnly = (policy: Policy): Policy => ({ statements: policy.statements.filter(namesService) })

function isGrantedByAcl({ owner, ownership, grants: stored }: Bucket): boolean {
  const { grants } = effectiveAcl({ ownerCanonicalId: owner, grants: stored }, ownership ?? 'ObjectWriter', owner)
  const has = (permission: string): boolean =>
    grants.some(
      grant =>
        grant.group && grant.grantee === 'LogDelivery' && ['FULL_CONTROL', permission].includes(grant.permission),
    )
  return has('WRITE') && has('READ_ACP')
}

/** The source and target buckets of a log delivery. */
interface Delivery {
  readonly target: Bucket
  readonly key: string
  /** The bucket whose log it is. */
  readonly source: string
  /** The account that owns both; undefined when it no longer exists. */
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

/** `policy` is the target's document as stored. */
export function mayDeliverLogs(delivery: Delivery, policy: string | undefined): boolean {
  const { target, key } = delivery
  if (policy === undefined) return isGrantedByAcl(target)
  const question = {
    caller: { kind: 'anonymous' },
    action: 'PutObject',
    resource: `${target.name}/${key}`,
    context: contextOf(delivery),
    deferred: NONE_DEFERRED,
  } as const
  try {
    const read = readStoredBucketPolicy(policy)
    if (applicableStatements(serviceAsEveryone(read), 'Deny', question).length > 0) return false
    return (
      isGrantedByAcl(target) ||
      applicableStatements(serviceAsEveryone(serviceStatementsOnly(read)), 'Allow', question).length > 0
    )
  } catch (error) {
    // A stored policy was valid once, so it is damaged and its denials are unknown.
    if (error instanceof Fault) return false
    throw error
  }
}
