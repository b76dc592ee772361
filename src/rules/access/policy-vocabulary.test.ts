/** The vocabulary of policies: the condition keys, principals and actions of the documentation of IAM and S3. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Caller } from '../../model/caller.ts'
import { Fault } from '../../model/faults.ts'
import { type AccessRequest, evaluate } from './evaluate.ts'
import { readBucketPolicy, readIdentityPolicy, readStoredBucketPolicy } from './policy.ts'

const GLOBAL_KEYS = `aws:AssumedRoot aws:CalledVia aws:CalledViaFirst aws:CalledViaLast aws:ChatbotSourceArn
  aws:CurrentTime aws:Ec2InstanceSourcePrivateIPv4 aws:Ec2InstanceSourceVpc aws:EpochTime aws:FederatedProvider
  aws:MultiFactorAuthAge aws:MultiFactorAuthPresent aws:PrincipalAccount aws:PrincipalArn aws:PrincipalIsAWSService
  aws:PrincipalOrgID aws:PrincipalOrgPaths aws:PrincipalServiceName aws:PrincipalServiceNamesList aws:PrincipalTag/Team
  aws:PrincipalType aws:referer aws:RequestedRegion aws:RequestTag/Team aws:ResourceAccount aws:ResourceOrgID
  aws:ResourceOrgPaths aws:ResourceTag/Team aws:SecureTransport aws:SignInSessionArn aws:SourceAccount aws:SourceArn
  aws:SourceIdentity aws:SourceIp aws:SourceOrgID aws:SourceOrgPaths aws:SourceOwner aws:SourceVpc aws:SourceVpcArn
  aws:SourceVpce aws:TagKeys aws:TokenIssueTime aws:UserAgent aws:userid aws:username aws:ViaAWSService
  aws:VpceAccount aws:VpceOrgID aws:VpceOrgPaths aws:VpcSourceIp`.split(/\s+/)

const OWN_KEYS = `s3:AccessGrantScope s3:AccessGrantsInstanceArn s3:AccessGrantsLocationScope
  s3:AccessPointNetworkOrigin s3:AccessPointTag/Team s3:authType s3:BucketTag/Team s3:DataAccessPointAccount
  s3:DataAccessPointArn s3:delimiter s3:destinationRegion s3:ExistingJobOperation s3:ExistingJobPriority
  s3:ExistingObjectTag/Team s3:if-match s3:if-none-match s3:InventoryAccessibleOptionalFields
  s3:isReplicationPauseRequest s3:JobSuspendedCause s3:locationconstraint s3:max-keys s3:object-lock-legal-hold
  s3:object-lock-mode s3:object-lock-remaining-retention-days s3:object-lock-retain-until-date
  s3:ObjectCreationOperation s3:prefix s3:RequestJobOperation s3:RequestJobPriority s3:RequestObjectTag/Team
  s3:RequestObjectTagKeys s3:ResourceAccount s3:signatureAge s3:signatureversion s3:TlsVersion s3:VersionId
  s3:x-amz-acl s3:x-amz-bucket-namespace s3:x-amz-content-sha256 s3:x-amz-copy-source s3:x-amz-grant-full-control
  s3:x-amz-grant-read s3:x-amz-grant-read-acp s3:x-amz-grant-write s3:x-amz-grant-write-acp
  s3:x-amz-metadata-directive s3:x-amz-object-ownership s3:x-amz-server-side-encryption
  s3:x-amz-server-side-encryption-aws-kms-key-id s3:x-amz-server-side-encryption-customer-algorithm
  s3:x-amz-storage-class s3:x-amz-website-redirect-location`.split(/\s+/)

/** Keys of other services that appear in requests to all of them. */
const CROSS_SERVICE_KEYS = `codebuild:BuildArn codebuild:ProjectArn ec2:RoleDelivery ec2:SourceInstanceArn
  glue:CredentialIssuingService glue:RoleAssumedBy identitystore:UserId lambda:SourceFunctionArn
  ssm:SourceInstanceArn`.split(/\s+/)

const inSvc = (key: string): string =>
  key
    .replace(/^(?:aws|s3):/, 'svc:')
    .replace(':x-amz-', ':x-svc-')
    .replace('-aws-kms-', '-svc-kms-')

const STATEMENT = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::bkt/*' }
const text = (change: object): string =>
  JSON.stringify({ Version: '2012-10-17', Statement: { ...STATEMENT, ...change } })
const read = (change: object) => readBucketPolicy(text(change), 'bkt')
const when = (operator: string, key: string, value: string) => ({ Condition: { [operator]: { [key]: value } } })

const isMalformed = (reason: RegExp) => (error: unknown) =>
  error instanceof Fault && error.code === 'MalformedPolicy' && reason.test(String(error.detail.reason))

test('G8 G2: every documented condition key is known, in both spellings and in any case', () => {
  for (const key of [...GLOBAL_KEYS, ...OWN_KEYS]) {
    assert.deepEqual(read(when('Null', key, 'true')), read(when('Null', inSvc(key), 'true')), key)
    const [name, tag] = key.split('/')
    const folded = tag === undefined ? key.toUpperCase() : `${name!.toUpperCase()}/${tag}`
    assert.deepEqual(read(when('Null', folded, 'true')), read(when('Null', key, 'true')), key)
  }
  for (const key of CROSS_SERVICE_KEYS) read(when('Null', key, 'true'))
})

test('G8: an undocumented condition key is refused', () => {
  for (const key of [
    'aws:SourceVpcEndpoint',
    's3:prefxi',
    'svc:anything',
    'aws:PrincipalTag',
    'aws:PrincipalTag/',
    's3:BucketTag/',
    'ec2:anything',
    'iam:PassedToService',
    'PrincipalOrgID',
    'aws:',
  ])
    assert.throws(() => read(when('Null', key, 'true')), isMalformed(/invalid condition key/), key)
})

const PUBLIC_BLOCK = {
  blockPublicAcls: false,
  ignorePublicAcls: false,
  blockPublicPolicy: false,
  restrictPublicBuckets: false,
}
const asked = (policy: string, caller: Caller): AccessRequest => ({
  caller,
  action: 'GetObject',
  resource: { bucket: 'bkt', key: 'k' },
  bucket: {
    ownerAccountId: '111111111111',
    ownerCanonicalId: 'o',
    policy,
    grants: [],
    ownership: 'ObjectWriter',
    publicAccessBlock: PUBLIC_BLOCK,
  },
  object: { ownerCanonicalId: 'o', grants: [], tags: [] },
  context: [],
})
const ANYONE: Caller = { kind: 'anonymous' }
const STRANGER: Caller = {
  kind: 'account',
  account: { accountId: '2'.repeat(12), canonicalId: '2', displayName: '', email: undefined },
  accessKey: 'k',
}

test('G8: a key without a value is absent: only Null, IfExists and negated comparisons match', () => {
  const rows: [operator: string, key: string, value: string, holds: boolean][] = [
    ['StringEquals', 'aws:SourceVpce', 'vpce-1', false],
    ['StringLike', 'aws:PrincipalTag/Team', '*', false],
    ['StringNotEquals', 'aws:SourceVpce', 'vpce-1', true],
    ['StringNotLike', 'svc:PrincipalOrgID', 'o-*', true],
    ['StringEqualsIfExists', 'aws:SourceVpce', 'vpce-1', true],
    ['ForAnyValue:StringEquals', 'aws:CalledVia', 'x', false],
    ['ForAllValues:StringEquals', 'aws:PrincipalOrgPaths', 'x', true],
    ['ForAnyValue:StringNotEquals', 'aws:PrincipalOrgPaths', 'x', false],
    ['Null', 's3:DataAccessPointArn', 'true', true],
    ['Null', 's3:BucketTag/Team', 'false', false],
    ['Bool', 'aws:MultiFactorAuthPresent', 'false', false],
    ['BoolIfExists', 'aws:MultiFactorAuthPresent', 'false', true],
    ['NumericLessThan', 'aws:MultiFactorAuthAge', '3600', false],
    ['ArnLike', 'aws:SourceArn', 'arn:aws:s3:::*', false],
    ['ArnNotLike', 'aws:SourceArn', 'arn:aws:s3:::*', true],
    ['IpAddress', 'aws:VpcSourceIp', '10.0.0.0/8', false],
    ['NotIpAddress', 'aws:VpcSourceIp', '10.0.0.0/8', true],
    ['DateGreaterThan', 'aws:TokenIssueTime', '2020-01-01T00:00:00Z', false],
  ]
  for (const [operator, key, value, holds] of rows) {
    const allow = { ...STATEMENT, ...when(operator, key, value) }
    const statements = (...all: object[]): string => JSON.stringify({ Version: '2012-10-17', Statement: all })
    assert.equal(evaluate(asked(statements(allow), ANYONE)).allowed, holds, `${operator} ${key}`)
    const deny = { ...allow, Effect: 'Deny' }
    assert.equal(evaluate(asked(statements(STATEMENT, deny), ANYONE)).allowed, !holds, `Deny ${operator} ${key}`)
  }
})

test('G8: no caller is a service principal', () => {
  const rows: [key: string, value: string, anyone: boolean, stranger: boolean][] = [
    ['aws:PrincipalIsAWSService', 'false', false, true],
    ['aws:PrincipalIsAWSService', 'true', false, false],
    ['aws:ViaAWSService', 'false', true, true],
    ['svc:ViaAWSService', 'true', false, false],
  ]
  for (const [key, value, anyone, stranger] of rows) {
    const policy = text(when('Bool', key, value))
    assert.equal(evaluate(asked(policy, ANYONE)).allowed, anyone, `${key} ${value}`)
    assert.equal(evaluate(asked(policy, STRANGER)).allowed, stranger, `${key} ${value}`)
    // Not even a request that claims to be.
    const claimed: AccessRequest = { ...asked(policy, STRANGER), context: [['principalisawsservice', ['true']]] }
    assert.equal(evaluate(claimed).allowed, stranger, `${key} ${value}`)
  }
})

test('G8: every key with one value is a variable; the name of a tag in it keeps its case', () => {
  for (const name of ['aws:PrincipalTag/Team', 's3:ExistingObjectTag/Team', 'aws:CurrentTime', 's3:x-amz-acl'])
    read({ Resource: `arn:aws:s3:::bkt/\${${name}}/*` })
  for (const name of ['s3:RequestObjectTagKeys', 'aws:TagKeys', 'aws:CalledVia', 'aws:nothing'])
    assert.throws(
      () => read({ Resource: `arn:aws:s3:::bkt/\${${name}}/*` }),
      isMalformed(/Unknown policy variable/),
      name,
    )
  const own = when('StringEqualsIgnoreCase', 'aws:referer', `HTTP://\${s3:ExistingObjectTag/Team}`)
  const tagged = {
    ...asked(text(own), ANYONE),
    object: { ownerCanonicalId: 'o', grants: [], tags: [['Team', 'Red']] as const },
    context: [['referer', ['http://RED']]] as const,
  }
  assert.equal(evaluate(tagged).allowed, true)
  assert.equal(evaluate({ ...tagged, context: [['referer', ['http://blue']]] }).allowed, false)
})

test('G8 G2: roles, sessions, federated identities and services are valid principals, and no caller', () => {
  const account = 'arn:aws:iam::222222222222'
  const valid: object[] = [
    { AWS: `${account}:role/writers` },
    { AWS: [`${account}:role/path/to/writers`, `${account}:role/aws-service-role/x.amazonaws.com/Y`] },
    { SVC: 'arn:svc:iam::222222222222:role/writers' },
    { AWS: 'arn:aws:sts::222222222222:assumed-role/writers/session@1' },
    { AWS: 'arn:aws:sts::222222222222:federated-user/ann' },
    { Federated: 'cognito-identity.amazonaws.com' },
    { Federated: ['accounts.google.com', `${account}:saml-provider/corp`] },
    { Federated: `${account}:oidc-provider/token.actions.githubusercontent.com` },
    { Service: 'cloudtrail.amazonaws.com' },
    { Service: ['delivery.logs.amazonaws.com', 's3.eu-west-1.amazonaws.com', 'replication.svc'] },
    { Service: 'logging.s3.amazonaws.com' },
  ]
  for (const principal of valid) {
    const statement = { ...STATEMENT, Principal: principal }
    read(statement)
    for (const caller of [ANYONE, STRANGER])
      assert.equal(evaluate(asked(text(statement), caller)).allowed, false, JSON.stringify(principal))
    // These principals never call, so all others are all callers.
    const { Principal: _, ...rest } = statement
    const all = [STATEMENT, { ...rest, Effect: 'Deny', NotPrincipal: principal }]
    const policy = JSON.stringify({ Version: '2012-10-17', Statement: all })
    assert.equal(evaluate(asked(policy, STRANGER)).allowed, false, JSON.stringify(principal))
  }
  for (const principal of [
    { AWS: `${account}:role/*` },
    { AWS: `${account}:role/` },
    { AWS: `${account}:group/all` },
    { AWS: 'arn:aws:sts::222222222222:assumed-role/writers' },
    { AWS: 'arn:aws:sts::222222222222:assumed-role/writers/*' },
    { AWS: `arn:aws:iam::22222222222:role/writers` },
    { Federated: '*' },
    { Federated: 'localhost' },
    { Federated: `${account}:user/ann` },
    { Service: '*' },
    { Service: 'cloudtrail' },
    { Service: 'cloudtrail.example.com' },
    { Service: '*.amazonaws.com' },
    { Anybody: '*' },
  ])
    assert.throws(() => read({ Principal: principal }), isMalformed(/Invalid principal/), JSON.stringify(principal))
})

test('G8: actions that S3 documents are valid, whether they are offered or not', () => {
  for (const action of ['s3:RestoreObject', 's3:ReplicateObject', 'svc:GetObjectTorrent', 's3:Replicate*'])
    read({ Action: action })
  for (const action of ['s3:GetBucketNotification', 's3:PutInventoryConfiguration', 's3:GetReplicationConfiguration'])
    read({ Action: action, Resource: 'arn:aws:s3:::bkt' })
  const { Principal: _, ...own } = STATEMENT
  readIdentityPolicy(JSON.stringify({ Statement: { ...own, Action: 's3:ListAccessPoints', Resource: '*' } }))
  for (const action of ['s3:RestoreObjects', 's3:Replicants*', 'kms:Decrypt'])
    assert.throws(() => read({ Action: action }), isMalformed(/invalid action/), action)
})

test('G8: an action of a bucket policy that fits no resource of its statement is refused', () => {
  const [bucket, objects] = ['arn:aws:s3:::bkt', 'arn:aws:s3:::bkt/*']
  const good: [string | string[], string | string[]][] = [
    ['s3:ListBucket', bucket],
    ['s3:GetObject', objects],
    ['s3:GetObject', 'arn:aws:s3:::bkt/a'],
    [
      ['s3:ListBucket', 's3:GetObject'],
      [bucket, objects],
    ],
    [['s3:ListBucket', 's3:GetObject'], 'arn:aws:s3:::bkt*'],
    [['s3:ListBucket', 's3:GetObject'], 'arn:aws:s3:::*'],
    [['s3:ListBucket', 's3:GetObject', 's3:ListAllMyBuckets'], '*'],
    ['s3:*', bucket],
    ['s3:*', objects],
    ['*', objects],
    ['s3:Get*', bucket],
    ['s3:Get*', objects],
    ['s3:GetObject', ['arn:svc:svc:::bk?/x', bucket]],
  ]
  for (const [action, resource] of good) read({ Action: action, Resource: resource })
  const bad: [string | string[], string | string[]][] = [
    ['s3:ListBucket', objects],
    ['s3:GetObject', bucket],
    ['svc:GetObject*', 'arn:svc:svc:::bkt'],
    ['s3:*Bucket', objects],
    [['s3:GetObject', 's3:ListBucket'], objects],
    [['s3:GetObject', 's3:ListBucket'], bucket],
    ['s3:ListAllMyBuckets', [bucket, objects]],
    ['s3:RestoreObject', bucket],
    ['s3:PutBucketNotification', objects],
  ]
  for (const [Action, Resource] of bad) {
    for (const Effect of ['Allow', 'Deny'])
      assert.throws(() => read({ Effect, Action, Resource }), isMalformed(/^Action does not apply to any/), `${Action}`)
    // Stored policies stay valid; a user's policy may contain statements that never apply.
    readStoredBucketPolicy(text({ Action, Resource }))
    const { Principal: _, ...own } = STATEMENT
    readIdentityPolicy(JSON.stringify({ Statement: { ...own, Action, Resource } }))
  }
  const { Action: _, ...rest } = STATEMENT
  readBucketPolicy(JSON.stringify({ Statement: { ...rest, NotAction: 's3:ListBucket', Resource: objects } }), 'bkt')
})
