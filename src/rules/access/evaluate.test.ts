import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account, Caller } from '../../model/caller.ts'
import type { Fault } from '../../model/faults.ts'
import type { Grant } from '../../model/version.ts'
import { mayLearnAbsence } from './absence.ts'
import { expandCanned } from './acl.ts'
import { ACTIONS, type Action } from './actions.ts'
import { type AccessRequest, authorize, type BucketFacts, evaluate } from './evaluate.ts'
import { describeReason } from './reasons.ts'

const account = (digit: string): Account => ({
  accountId: digit.repeat(12),
  canonicalId: digit.repeat(64),
  displayName: digit,
  email: undefined,
})
const [OWNER, OTHER] = [account('1'), account('2')]
const ANYONE: Caller = { kind: 'anonymous' }
const rootOf = (of: Account): Caller => ({ kind: 'account', account: of, accessKey: 'k' })
const userOf = (of: Account, ...statements: object[]): Caller => {
  const policies = statements.map(one => JSON.stringify({ Version: '2012-10-17', Statement: one }))
  return { kind: 'user', account: of, user: { name: 'ann', policies }, accessKey: 'k' }
}
const allow = (action: string | string[], more: object = {}): object => ({
  Effect: 'Allow',
  Action: action,
  Resource: '*',
  ...more,
})
const deny = (action: string, more: object = {}): object => ({ ...allow(action, more), Effect: 'Deny' })
const policy = (...statements: object[]): string => JSON.stringify({ Version: '2012-10-17', Statement: statements })

const BUCKET: BucketFacts = {
  ownerAccountId: OWNER.accountId,
  ownerCanonicalId: OWNER.canonicalId,
  policy: undefined,
  grants: [],
  ownership: 'ObjectWriter',
  publicAccessBlock: {
    blockPublicAcls: false,
    ignorePublicAcls: false,
    blockPublicPolicy: false,
    restrictPublicBuckets: false,
  },
}
const object = (of: Account, ...grants: Grant[]) => ({ ownerCanonicalId: of.canonicalId, grants, tags: [] })
const grant = (to: Account | string, permission: Grant['permission']): Grant => ({
  grantee: typeof to === 'string' ? to : to.canonicalId,
  group: typeof to === 'string',
  permission,
})

function request(caller: Caller, action: Action, more: Partial<AccessRequest> & { facts?: Partial<BucketFacts> } = {}) {
  const { facts, ...rest } = more
  const isObject = ACTIONS.get(action)!.on === 'object'
  return {
    caller,
    action,
    resource: isObject ? { bucket: 'bkt', key: 'a' } : { bucket: 'bkt' },
    bucket: { ...BUCKET, ...facts },
    object: undefined,
    context: new Map(),
    ...rest,
  } satisfies AccessRequest
}

type More = Parameters<typeof request>[2]
const may = (caller: Caller, action: Action, more?: More): boolean => evaluate(request(caller, action, more)).allowed

test('G7: identity, policy and list, as a table', () => {
  const open = { facts: { policy: policy(allow('s3:*', { Principal: '*' })) } }
  const toOther = { facts: { policy: policy(allow('s3:*', { Principal: { AWS: OTHER.accountId } })) } }
  const toOwner = { facts: { policy: policy(allow('s3:*', { Principal: { AWS: OWNER.accountId } })) } }
  const ann = `arn:svc:iam::${OWNER.accountId}:user/ann`
  const toAnn = { facts: { policy: policy(allow('s3:*', { Principal: { SVC: ann } })) } }
  const reader = userOf(OTHER, allow('s3:GetObject'))
  const rows: [string, Caller, Action, More, boolean][] = [
    ['owner key', rootOf(OWNER), 'PutBucketPolicy', {}, true],
    ['owner key, list without it', rootOf(OWNER), 'GetObject', { object: object(OWNER) }, true],
    ['owner user without policies', userOf(OWNER), 'GetObject', {}, false],
    ['owner user with a policy', userOf(OWNER, allow('s3:Get*')), 'GetObject', {}, true],
    ['owner user, other action', userOf(OWNER, allow('s3:Get*')), 'PutObject', {}, false],
    ['owner user by bucket policy alone', userOf(OWNER), 'GetObject', open, true],
    ['stranger', rootOf(OTHER), 'GetObject', {}, false],
    ['stranger by bucket policy', rootOf(OTHER), 'GetObject', toOther, true],
    ['stranger’s user: the account was meant, not the user', userOf(OTHER), 'GetObject', toOther, false],
    ['owner’s user: the account was meant, not the user', userOf(OWNER), 'GetObject', toOwner, false],
    ['a namesake in another account', userOf(OTHER, allow('*')), 'GetObject', toAnn, false],
    ['the one who was meant', userOf(OWNER), 'GetObject', toAnn, true],
    ['stranger’s user with both', reader, 'GetObject', toOther, true],
    ['stranger’s user with identity alone', reader, 'GetObject', {}, false],
    ['anyone', ANYONE, 'GetObject', {}, false],
    ['anyone by bucket policy', ANYONE, 'GetObject', open, true],
    ['anyone when another account was meant', ANYONE, 'GetObject', toOther, false],
    ['anyone by list', ANYONE, 'GetObject', { object: object(OWNER, grant('AllUsers', 'READ')) }, true],
    ['R31 WRITE on an object', ANYONE, 'PutObject', { object: object(OWNER, grant('AllUsers', 'WRITE')) }, false],
    ['WRITE on the bucket', ANYONE, 'PutObject', { facts: { grants: [grant('AllUsers', 'WRITE')] } }, true],
    ['WRITE deletes', ANYONE, 'DeleteObject', { facts: { grants: [grant('AllUsers', 'WRITE')] } }, true],
    ['but no version', ANYONE, 'DeleteObjectVersion', { facts: { grants: [grant('AllUsers', 'WRITE')] } }, false],
    [
      'no list for tags',
      ANYONE,
      'GetObjectTagging',
      { object: object(OWNER, grant('AllUsers', 'FULL_CONTROL')) },
      false,
    ],
    ['list to the account', rootOf(OTHER), 'GetObject', { object: object(OWNER, grant(OTHER, 'READ')) }, true],
    ['its user needs both', userOf(OTHER), 'GetObject', { object: object(OWNER, grant(OTHER, 'READ')) }, false],
    ['its user with both', reader, 'GetObject', { object: object(OWNER, grant(OTHER, 'READ')) }, true],
    ['READ is not READ_ACP', rootOf(OTHER), 'GetObjectAcl', { object: object(OWNER, grant(OTHER, 'READ')) }, false],
    ['FULL_CONTROL is', rootOf(OTHER), 'GetObjectAcl', { object: object(OWNER, grant(OTHER, 'FULL_CONTROL')) }, true],
    ['31 anyone, authenticated-read', ANYONE, 'ListBucket', { facts: { grants: authenticatedRead() } }, false],
    [
      'any signed caller, authenticated-read',
      rootOf(OTHER),
      'ListBucket',
      { facts: { grants: authenticatedRead() } },
      true,
    ],
    ['no bucket, account key', rootOf(OTHER), 'ListAllMyBuckets', { bucket: undefined, resource: {} }, true],
    [
      'no bucket, user',
      userOf(OTHER, allow('s3:List*')),
      'ListAllMyBuckets',
      { bucket: undefined, resource: {} },
      true,
    ],
    ['no bucket, user without', userOf(OTHER), 'CreateBucket', { bucket: undefined }, false],
    ['no bucket, anyone', ANYONE, 'ListAllMyBuckets', { bucket: undefined, resource: {} }, false],
  ]
  for (const [name, caller, action, more, expected] of rows) assert.equal(may(caller, action, more), expected, name)
})

function authenticatedRead(): Grant[] {
  return expandCanned('authenticated-read', { owner: OWNER.canonicalId, bucketOwner: OWNER.canonicalId })
}

test('G7: an object’s owner grants access to it; the bucket owner may remove it', () => {
  const foreign = { object: object(OTHER), facts: { policy: policy(allow('s3:*', { Principal: '*' })) } }
  assert.equal(may(rootOf(OWNER), 'GetObject', foreign), false)
  assert.equal(may(ANYONE, 'GetObject', foreign), false)
  assert.equal(may(rootOf(OTHER), 'GetObject', foreign), true)
  assert.equal(may(rootOf(OWNER), 'GetObject', { object: object(OTHER, grant(OWNER, 'READ')) }), true)
  assert.equal(may(rootOf(OWNER), 'DeleteObject', { object: object(OTHER) }), true)
  assert.equal(may(rootOf(OWNER), 'DeleteObjectVersion', { object: object(OTHER) }), true)
  assert.equal(may(rootOf(OTHER), 'DeleteObject', { object: object(OTHER) }), false)
  const denied = { object: object(OTHER), facts: { policy: policy(deny('s3:GetObject', { Principal: '*' })) } }
  assert.equal(may(rootOf(OTHER), 'GetObject', denied), false)
  const enforced = { object: object(OTHER), facts: { ownership: 'BucketOwnerEnforced' } } as const
  assert.equal(may(rootOf(OWNER), 'GetObject', enforced), true)
  assert.equal(may(rootOf(OTHER), 'GetObject', enforced), false)
  assert.deepEqual(evaluate(request(ANYONE, 'GetObject', foreign)).reasons.at(-1), {
    kind: 'ownership',
    rule: 'object of another owner',
  })
})

test('G7: the owner’s account key always reaches the bucket policy, its users do not', () => {
  const locked = { facts: { policy: policy(deny('s3:*', { Principal: '*' })) } }
  for (const action of ['GetBucketPolicy', 'PutBucketPolicy', 'DeleteBucketPolicy'] as const) {
    assert.equal(may(rootOf(OWNER), action, locked), true, action)
    assert.equal(may(userOf(OWNER, allow('*')), action, locked), false, action)
    assert.equal(may(rootOf(OTHER), action, locked), false, action)
  }
  assert.equal(may(rootOf(OWNER), 'ListBucket', locked), false)
})

test('G7: public access blocks', () => {
  const block = (change: object) => ({ ...BUCKET.publicAccessBlock, ...change })
  const ignoring = block({ ignorePublicAcls: true })
  const listed = object(OWNER, grant('AllUsers', 'READ'), grant(OTHER, 'READ'))
  assert.equal(may(ANYONE, 'GetObject', { object: listed, facts: { publicAccessBlock: ignoring } }), false)
  assert.equal(may(rootOf(OTHER), 'GetObject', { object: listed, facts: { publicAccessBlock: ignoring } }), true)
  const restricting = { publicAccessBlock: block({ restrictPublicBuckets: true }) }
  const open = { facts: { ...restricting, policy: policy(allow('s3:*', { Principal: '*' })) } }
  const named = { facts: { ...restricting, policy: policy(allow('s3:*', { Principal: { AWS: OTHER.accountId } })) } }
  assert.equal(may(ANYONE, 'GetObject', open), false)
  assert.equal(may(rootOf(OTHER), 'GetObject', open), false)
  assert.equal(may(userOf(OWNER), 'GetObject', open), true)
  assert.equal(may(rootOf(OTHER), 'GetObject', named), true)
  const { reasons } = evaluate(request(ANYONE, 'GetObject', open))
  assert(reasons.some(reason => reason.kind === 'block' && reason.block === 'RestrictPublicBuckets'))
})

test('R106: setting the ACL of an object of the caller’s account also requires PutObject', () => {
  const own = { object: object(OWNER) }
  const both = ['s3:PutObjectAcl', 's3:PutObject']
  assert.equal(may(userOf(OWNER, allow('s3:PutObjectAcl')), 'PutObjectAcl', own), false)
  assert.equal(may(userOf(OWNER, allow(both)), 'PutObjectAcl', own), true)
  assert.equal(may(userOf(OWNER, allow(both), deny('s3:PutObject')), 'PutObjectAcl', own), false)
  assert.equal(may(rootOf(OWNER), 'PutObjectAcl', own), true)
  const headerDemanded = { ...own, facts: { policy: policy(deny('s3:PutObject', { Principal: '*' })) } }
  assert.equal(may(userOf(OWNER, allow(both)), 'PutObjectAcl', headerDemanded), true)
  const byPolicy = allow(both, { Principal: '*' })
  const noWriting = deny('s3:PutObject', { Principal: '*' })
  assert.equal(may(userOf(OWNER), 'PutObjectAcl', { ...own, facts: { policy: policy(byPolicy) } }), true)
  assert.equal(may(userOf(OWNER), 'PutObjectAcl', { ...own, facts: { policy: policy(byPolicy, noWriting) } }), false)
  const deniedUser = userOf(OWNER, deny('s3:PutObject'))
  assert.equal(may(deniedUser, 'PutObjectAcl', { ...own, facts: { policy: policy(byPolicy) } }), false)
  const granted = { object: object(OWNER, grant(OTHER, 'WRITE_ACP')) }
  assert.equal(may(userOf(OTHER, allow('s3:PutObjectAcl')), 'PutObjectAcl', granted), true)
  assert.equal(may(userOf(OTHER, allow('s3:PutObject')), 'PutObjectAcl', granted), false)
  assert.equal(may(rootOf(OTHER), 'PutObjectAcl', granted), true)
})

test('R99: the initiator of an upload may end it, unless a policy denies that', () => {
  const began = { isInitiator: true }
  assert.equal(may(userOf(OTHER), 'AbortMultipartUpload', began), true)
  assert.equal(may(userOf(OTHER), 'AbortMultipartUpload'), false)
  assert.equal(may(rootOf(OWNER), 'AbortMultipartUpload'), true)
  assert.equal(may(userOf(OTHER), 'PutObject', began), false)
  assert.equal(may(ANYONE, 'AbortMultipartUpload', began), false)
  assert.equal(may(userOf(OTHER, deny('s3:Abort*')), 'AbortMultipartUpload', began), false)
})

test('R60 R70: anonymous uploads and copies need a policy, not only an ACL', () => {
  const facts = { grants: [grant('AllUsers', 'WRITE')] }
  assert.equal(may(ANYONE, 'PutObject', { facts, anonymousNeedsPolicy: true }), false)
  assert.equal(may(rootOf(OTHER), 'PutObject', { facts, anonymousNeedsPolicy: true }), true)
  const open = { policy: policy(allow('s3:PutObject', { Principal: '*' })) }
  assert.equal(may(ANYONE, 'PutObject', { facts: open, anonymousNeedsPolicy: true }), true)
})

test('A34: only callers who may list learn that a key is missing', () => {
  const read = policy(allow('s3:GetObject', { Principal: '*' }))
  const both = policy(allow(['s3:GetObject', 's3:ListBucket'], { Principal: '*' }))
  const absent = (policyText: string | undefined, more: Partial<BucketFacts> = {}) =>
    mayLearnAbsence(request(ANYONE, 'GetObject', { facts: { policy: policyText, ...more } })).allowed
  assert.equal(absent(read), false)
  assert.equal(absent(both), true)
  assert.equal(absent(undefined, { grants: [grant('AllUsers', 'READ')] }), true)
  const hidden = policy(deny('s3:GetObject', { Principal: '*' }))
  assert.equal(absent(hidden, { grants: [grant('AllUsers', 'READ')] }), false)
})

test('A35: names that only look alike are different names', () => {
  const denied = (change: object): More => ({
    facts: { policy: policy(allow('s3:*', { Principal: '*' }), { ...deny('s3:*', { Principal: '*' }), ...change }) },
  })
  const ann = `arn:aws:iam::${OTHER.accountId}:user/ann`
  const caller = userOf(OTHER, allow('s3:*'))
  assert.equal(may(caller, 'GetObject', denied({ Principal: { AWS: ann } })), false)
  assert.equal(may(caller, 'GetObject', denied({ Principal: { AWS: ann.replace('ann', 'Ann') } })), true)
  assert.equal(may(caller, 'GetObject', denied({ Principal: { AWS: ann.replace('/ann', '/\u0430nn') } })), true)
  assert.equal(may(caller, 'GetObject', denied({ Action: 'S3:GETOBJECT' })), false)
  assert.equal(may(caller, 'GetObject', denied({ Resource: 'arn:aws:s3:::bkt/A' })), true)
  const opposite = { ...deny('s3:*'), NotPrincipal: { AWS: [ann] } }
  const facts = { policy: policy(allow('s3:*', { Principal: '*' }), opposite) }
  assert.equal(may(caller, 'GetObject', { facts }), true)
  assert.equal(may(rootOf(OTHER), 'GetObject', { facts }), false)
  assert.equal(may(ANYONE, 'GetObject', { facts }), false)
})

test('A35: request headers cannot forge condition keys about caller, bucket or object tags', () => {
  const forged = new Map([
    ['username', ['boss']],
    ['principalarn', [`arn:svc:iam::${OWNER.accountId}:root`]],
    ['existingobjecttag/class', ['open']],
  ])
  const when = (condition: object): More => ({
    context: forged,
    object: { ...object(OWNER), tags: [['class', 'secret']] },
    facts: { policy: policy(allow('s3:*', { Principal: '*', Condition: condition })) },
  })
  assert.equal(may(ANYONE, 'GetObject', when({ Null: { 'aws:username': 'false' } })), false)
  assert.equal(may(ANYONE, 'GetObject', when({ StringLike: { 'aws:PrincipalArn': '*' } })), false)
  assert.equal(may(ANYONE, 'GetObject', when({ StringEquals: { 's3:ExistingObjectTag/class': 'open' } })), false)
  assert.equal(may(ANYONE, 'GetObject', when({ StringEquals: { 's3:ExistingObjectTag/class': 'secret' } })), true)
  assert.equal(may(ANYONE, 'GetObject', when({ StringEquals: { 's3:ExistingObjectTag/Class': 'secret' } })), false)
})

test('G7: NotResource with an unresolved variable does not allow, and does deny', () => {
  const elsewhere = { Principal: '*', Resource: undefined, NotResource: `arn:aws:s3:::bkt/\${aws:username}/*` }
  const open = allow('s3:*', { Principal: '*' })
  assert.equal(may(ANYONE, 'GetObject', { facts: { policy: policy(allow('s3:*', elsewhere)) } }), false)
  assert.equal(may(userOf(OWNER), 'GetObject', { facts: { policy: policy(allow('s3:*', elsewhere)) } }), true)
  assert.equal(may(ANYONE, 'GetObject', { facts: { policy: policy(open, deny('s3:*', elsewhere)) } }), false)
})

test('G2: a policy of one dialect holds for requests of the other', () => {
  const demand = (key: string, value: string): More => ({
    context: new Map([['server-side-encryption', ['verenc']]]),
    facts: {
      policy: policy(
        allow('svc:PutObject', { Principal: '*' }),
        deny('s3:PutObject', { Principal: '*', Condition: { StringNotEquals: { [key]: value } } }),
      ),
    },
  })
  assert.equal(may(ANYONE, 'PutObject', demand('s3:x-amz-server-side-encryption', 'aws:kms')), true)
  assert.equal(may(ANYONE, 'PutObject', demand('svc:x-svc-server-side-encryption', 'verenc')), true)
  assert.equal(may(ANYONE, 'PutObject', demand('svc:x-svc-server-side-encryption', 'AES256')), false)
})

test('G7: a decision names the statement or grant that decided', () => {
  const facts = {
    policy: policy(allow('s3:*', { Principal: '*' }), deny('s3:Put*', { Principal: '*', Sid: 'frozen' })),
  }
  const { reasons } = evaluate(request(rootOf(OTHER), 'PutObject', { facts }))
  assert.deepEqual(reasons.map(describeReason), ['Deny: bucket policy, statement 1 (frozen)'])
  const byList = evaluate(request(rootOf(OTHER), 'GetObject', { object: object(OWNER, grant(OTHER, 'READ')) }))
  assert.deepEqual(byList.reasons.map(describeReason), [
    `grant 0 of the object: READ to ${OTHER.canonicalId}`,
    'account key',
  ])
  const byUser = evaluate(request(userOf(OWNER, deny('s3:List*'), allow('s3:Get*')), 'GetObject'))
  assert.deepEqual(byUser.reasons.map(describeReason), [
    'Allow: identity policy 1, statement 0',
    'ownership: resource owner',
  ])
  assert.throws(
    () => authorize(request(ANYONE, 'GetObject')),
    (error: Fault) => error.code === 'AccessDenied',
  )
})

test('G7: a stored policy that cannot be parsed denies everything', () => {
  const broken: Caller = { kind: 'user', account: OWNER, user: { name: 'a', policies: ['{'] }, accessKey: 'k' }
  assert.deepEqual(evaluate(request(broken, 'GetObject')), { allowed: false, reasons: [{ kind: 'unreadable policy' }] })
  assert.equal(may(rootOf(OWNER), 'GetObject', { facts: { policy: 'x' } }), false)
})
