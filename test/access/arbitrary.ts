/** Random access requests over a world small enough for rules to collide: three accounts, one bucket, a few keys. */
import fc from 'fast-check'
import type { Account, Caller } from '../../src/model/caller.ts'
import type { Grant } from '../../src/model/version.ts'
import type { Action } from '../../src/rules/access/actions.ts'
import { ACTIONS, actionFacts } from '../../src/rules/access/actions.ts'
import type { AccessRequest } from '../../src/rules/access/evaluate.ts'

export const BUCKET = 'bkt'

export const account = (digit: string): Account => ({
  accountId: digit.repeat(12),
  canonicalId: digit.repeat(64),
  displayName: digit,
  email: undefined,
})

export const ACCOUNTS = ['1', '2', '3'].map(account)
const USERS = ['ann', 'Ann', '*', 'a']
const KEYS = ['a', 'a/b', 'ann/x', 'Ann/x', '*/x', 'é', '😀/x']
const some = <const T>(...items: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...items)

/** A few actions are frequent, so that policies and requests match; the rest is rare. */
const OFTEN: readonly Action[] = ['GetObject', 'PutObject', 'PutObjectAcl', 'ListBucket', 'DeleteObject']
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: some(...OFTEN) },
  { weight: 1, arbitrary: some(...ACTIONS.keys()) },
)

const arnOf = (digit: string, who: string): string[] =>
  ['aws', 'svc'].map(partition => `arn:${partition}:iam::${digit.repeat(12)}:${who}`)

const principalName = some(
  '*',
  '2'.repeat(12),
  ...arnOf('1', 'root'),
  ...arnOf('2', 'root'),
  ...arnOf('1', 'user/ann'),
  ...arnOf('2', 'user/ann'),
  ...arnOf('2', 'user/Ann'),
)

const principal = fc.oneof(
  fc.constant('*'),
  fc.dictionary(some('AWS', 'SVC'), fc.oneof(principalName, fc.array(principalName, { minLength: 1, maxLength: 2 })), {
    minKeys: 1,
    maxKeys: 2,
    noNullPrototype: true,
  }),
  fc.record({ CanonicalUser: some(...ACCOUNTS.map(one => one.canonicalId)) }, { noNullPrototype: true }),
  some(
    { AWS: arnOf('2', 'role/ann') },
    { Federated: 'accounts.google.com' },
    { Service: 'logging.s3.amazonaws.com' },
    { Service: 'cloudtrail.amazonaws.com', SVC: '2'.repeat(12) },
  ),
)

const actionText = some(
  '*',
  's3:*',
  'svc:Get*',
  's3:GetObject',
  'SVC:putobject*',
  's3:*Acl',
  'svc:????Bucket',
  's3:P*t*',
)

const resourceText = some(
  '*',
  'arn:aws:s3:::bkt',
  'arn:svc:svc:::bkt/*',
  'arn:aws:s3:::*',
  'arn:svc:svc:::bkt/a',
  'arn:aws:s3:::bkt/a?b',
  'arn:aws:s3:::bkt/?',
  'arn:aws:s3:::bkt/?/x',
  `arn:svc:svc:::bkt/\${aws:username}/*`,
  `arn:aws:s3:::bkt/\${*}/x`,
  'arn:aws:s3:::b*/*/x',
)

const oneOrMore = <T>(item: fc.Arbitrary<T>): fc.Arbitrary<T | T[]> =>
  fc.oneof(item, fc.array(item, { minLength: 1, maxLength: 3 }))

const condition = (operators: readonly string[], keys: readonly string[], values: readonly string[]) =>
  fc
    .tuple(some('', '', 'ForAnyValue:', 'ForAllValues:'), some(...operators), some('', '', 'IfExists'), some(...keys))
    .chain(([quantifier, operator, exists, key]) =>
      oneOrMore(some(...values)).map(value => ({ [quantifier + operator + exists]: { [key]: value } })),
    )

const STRING_OPERATORS = ['StringEquals', 'StringNotEquals', 'StringEqualsIgnoreCase', 'StringLike', 'StringNotLike']
const NUMBER_OPERATORS = ['NumericEquals', 'NumericNotEquals', 'NumericLessThan', 'NumericGreaterThanEquals']
const ranges = ['10.0.0.0/8', '10.1.0.0/16', '0.0.0.0/0', '10.1.2.3/32']

const conditions = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  condition(STRING_OPERATORS, ['s3:prefix', 'svc:Prefix'], ['a', 'A', 'a*', '*', `\${aws:username}`, 'x?']),
  condition(STRING_OPERATORS, ['s3:x-amz-acl', 'svc:x-svc-acl'], ['private', 'public-*', 'Private']),
  condition(STRING_OPERATORS, ['s3:RequestObjectTagKeys'], ['k', 'm', 'K', '?']),
  condition(STRING_OPERATORS, ['s3:ExistingObjectTag/k', 'svc:ExistingObjectTag/K'], ['v', 'V*']),
  condition(NUMBER_OPERATORS, ['s3:max-keys'], ['1', '10', '10.5']),
  condition(['DateLessThan', 'DateGreaterThan'], ['aws:CurrentTime'], ['2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z']),
  condition(['Bool'], ['aws:SecureTransport'], ['true', 'False']),
  condition(['IpAddress', 'NotIpAddress'], ['aws:SourceIp', 'svc:SourceIp'], ranges),
  condition(['ArnLike', 'ArnNotEquals'], ['aws:PrincipalArn'], [...arnOf('2', 'user/ann'), ...arnOf('2', '*')]),
  condition(['StringEquals', 'StringLike'], ['aws:PrincipalAccount'], ['2'.repeat(12), '2*']),
  condition(STRING_OPERATORS, ['aws:SourceVpce', 'svc:PrincipalTag/k', 's3:DataAccessPointAccount'], ['a', '*']),
  condition(
    ['Bool'],
    ['aws:PrincipalIsAWSService', 'aws:ViaAWSService', 'aws:MultiFactorAuthPresent'],
    ['true', 'false'],
  ),
  fc
    .tuple(some('s3:prefix', 'aws:username', 'aws:SourceVpc'), some('true', 'false'))
    .map(([key, value]) => ({ Null: { [key]: value } })),
)

const statement = (isIdentity: boolean) =>
  fc
    .record({
      effect: some('Allow', 'Allow', 'Allow', 'Deny'),
      principal,
      isOpposite: fc.tuple(some(false, false, true), some(false, false, false, true), some(false, false, false, true)),
      actions: oneOrMore(actionText),
      resources: oneOrMore(resourceText),
      conditions,
    })
    .map(({ effect, principal: who, isOpposite, actions, resources, conditions: when }) => ({
      Effect: effect,
      ...(isIdentity ? {} : { [isOpposite[0] && effect === 'Deny' ? 'NotPrincipal' : 'Principal']: who }),
      [isOpposite[1] ? 'NotAction' : 'Action']: actions,
      [isOpposite[2] ? 'NotResource' : 'Resource']: resources,
      ...(when === undefined ? {} : { Condition: when }),
    }))

export const policyText = (isIdentity: boolean): fc.Arbitrary<string> =>
  fc
    .array(statement(isIdentity), { minLength: 1, maxLength: 4 })
    .map(statements => JSON.stringify({ Version: '2012-10-17', Statement: statements }))

const caller: fc.Arbitrary<Caller> = fc.oneof(
  fc.constant({ kind: 'anonymous' } as const),
  some(...ACCOUNTS).map(one => ({ kind: 'account', account: one, accessKey: 'k' }) as const),
  fc
    .tuple(some(...ACCOUNTS), some(...USERS), fc.array(policyText(true), { maxLength: 2 }))
    .map(
      ([one, name, policies]) => ({ kind: 'user', account: one, user: { name, policies }, accessKey: 'k' }) as const,
    ),
)

const grant: fc.Arbitrary<Grant> = fc
  .tuple(
    some('AllUsers', 'AuthenticatedUsers', ...ACCOUNTS.map(one => one.canonicalId)),
    some('FULL_CONTROL', 'READ', 'WRITE', 'READ_ACP', 'WRITE_ACP'),
  )
  .map(([grantee, permission]) => ({ grantee, group: grantee.endsWith('Users'), permission }))

const grants = fc.array(grant, { maxLength: 3 })

const context = fc
  .record(
    {
      prefix: some('a', 'A', 'ab', 'ann', '*', ''),
      acl: some('private', 'public-read'),
      'max-keys': some('1', '10', '100'),
      sourceip: some('10.1.2.3', '10.200.0.1', '192.168.0.1', '2001:db8::1'),
      securetransport: some('true', 'false'),
      currenttime: fc.constant('2026-06-01T00:00:00Z'),
      requestobjecttagkeys: some('k', 'm', 'k,m'),
    },
    { requiredKeys: [] },
  )
  .map(record => new Map(Object.entries(record).map(([key, value]) => [key, value.split(',')] as const)))

const block = fc.record({
  blockPublicAcls: fc.boolean(),
  ignorePublicAcls: some(false, false, true),
  blockPublicPolicy: fc.boolean(),
  restrictPublicBuckets: some(false, false, true),
})

export const accessRequest: fc.Arbitrary<AccessRequest> = fc
  .record({
    caller,
    action,
    key: some(...KEYS),
    policy: fc.option(policyText(false), { nil: undefined }),
    grants: fc.tuple(grants, grants),
    ownership: some('ObjectWriter', 'ObjectWriter', 'BucketOwnerPreferred', 'BucketOwnerEnforced'),
    publicAccessBlock: block,
    owner: fc.option(some(...ACCOUNTS), { nil: undefined }),
    ofNewObject: fc.boolean(),
    tags: some([], [['k', 'v']], [['K', 'VV']]) as fc.Arbitrary<readonly (readonly [string, string])[]>,
    context,
  })
  .map(made => {
    const { on } = actionFacts(made.action)
    const hasBucket = on !== 'service' && made.action !== 'CreateBucket'
    const [bucketGrants, objectGrants] = made.grants
    const { policy, ownership, publicAccessBlock } = made
    const { accountId: ownerAccountId, canonicalId: ownerCanonicalId } = ACCOUNTS[0]!
    const isObject = on === 'object' && made.owner !== undefined
    return {
      caller: made.caller,
      action: made.action,
      resource: on === 'service' ? {} : on === 'bucket' ? { bucket: BUCKET } : { bucket: BUCKET, key: made.key },
      bucket: hasBucket
        ? { ownerAccountId, ownerCanonicalId, policy, grants: bucketGrants, ownership, publicAccessBlock }
        : undefined,
      object: isObject
        ? { ownerCanonicalId: made.owner!.canonicalId, grants: objectGrants, tags: made.tags }
        : undefined,
      context: made.context,
      ofNewObject: made.ofNewObject && made.action === 'PutObjectAcl',
    }
  })
