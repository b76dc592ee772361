import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../model/faults.ts'
import { checkPolicyNotPublic, isPublicPolicy } from './is-public.ts'
import { readBucketPolicy } from './policy.ts'

const read = (change: object) => {
  const statement = { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: '*', ...change }
  return readBucketPolicy(JSON.stringify({ Version: '2012-10-17', Statement: [statement] }), 'bkt')
}
const when = (operator: string, key: string, value: string | string[]) => ({
  Condition: { [operator]: { [key]: value } },
})

test('G8: a policy is public if it allows everyone without a fixed restriction', () => {
  const arn = 'arn:aws:iam::111111111111:user/ann'
  const rows: [object, boolean][] = [
    [{}, true],
    [{ Principal: { AWS: '*' } }, true],
    [{ Principal: { SVC: ['111111111111', '*'] } }, true],
    [{ Principal: { AWS: '111111111111' } }, false],
    [{ Effect: 'Deny' }, false],
    [when('IpAddress', 'aws:SourceIp', '10.0.0.0/8'), false],
    [when('IpAddress', 'svc:SourceIp', ['10.0.0.0/8', '2001:db8::/32']), false],
    [when('IpAddress', 'aws:SourceIp', ['10.0.0.0/8', '0.0.0.0/0']), true],
    [when('IpAddress', 'aws:SourceIp', '128.0.0.0/1'), true],
    [when('IpAddress', 'aws:SourceIp', '::/0'), true],
    [when('IpAddressIfExists', 'aws:SourceIp', '10.0.0.0/8'), true],
    [when('NotIpAddress', 'aws:SourceIp', '10.0.0.0/8'), true],
    [when('StringEquals', 'aws:PrincipalArn', arn), false],
    [when('ArnLike', 'aws:PrincipalArn', arn), false],
    [when('ArnLike', 'aws:PrincipalArn', arn.replace('ann', '*')), true],
    [when('StringLike', 'aws:PrincipalAccount', '111111111111'), false],
    [when('StringLike', 'aws:PrincipalAccount', ['111111111111', '2*']), true],
    [when('StringNotEquals', 'aws:PrincipalAccount', '111111111111'), true],
    [when('StringEqualsIfExists', 'aws:PrincipalAccount', '111111111111'), true],
    [when('ForAllValues:StringEquals', 'aws:PrincipalAccount', '111111111111'), true],
    [when('StringEquals', 'aws:PrincipalAccount', `\${aws:PrincipalAccount}`), true],
    [when('StringEquals', 'aws:SourceVpce', 'vpce-1'), false],
    [when('StringLike', 'aws:SourceVpc', 'vpc-*'), true],
    [when('StringNotEquals', 'aws:SourceVpce', 'vpce-1'), true],
    [when('StringEquals', 'aws:PrincipalOrgID', 'o-1'), false],
    [when('StringEquals', 'aws:SourceAccount', '111111111111'), false],
    [when('ArnEquals', 'aws:SourceArn', 'arn:aws:s3:::other'), false],
    [when('StringEquals', 'aws:userid', 'anonymous'), true],
    [when('Bool', 'aws:SecureTransport', 'true'), true],
    [when('StringEquals', 's3:prefix', 'a'), true],
    [when('Null', 'aws:PrincipalArn', 'false'), true],
  ]
  for (const [change, expected] of rows) assert.equal(isPublicPolicy(read(change)), expected, JSON.stringify(change))
})

test('G15: BlockPublicPolicy refuses a public policy and no other', () => {
  const isDenied = (error: unknown) => error instanceof Fault && error.code === 'AccessDenied'
  assert.throws(() => checkPolicyNotPublic(read({}), true), isDenied)
  checkPolicyNotPublic(read({}), false)
  checkPolicyNotPublic(read({ Principal: { AWS: '111111111111' } }), true)
})
