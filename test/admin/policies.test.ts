/** Policies for editors and explanations: where a mistake is, what is public, and which text decides. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalIdOf } from '../../src/model/account.ts'
import { signedInPage } from './console-fixture.ts'
import { type Consoled, withConsole } from './fixture.ts'

const ONE = '111111111111'
const USER_POLICY = `{ "Version": "2012-10-17",
  "Statement": [{ "Sid": "Reads", "Effect": "Allow", "Action": "s3:*", "Resource": "*" }] }`
const BUCKET_POLICY = JSON.stringify({
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::kept/*' },
    {
      Effect: 'Deny',
      Principal: '*',
      Action: 's3:GetObject',
      Resource: 'arn:aws:s3:::kept/*',
      Condition: { NotIpAddress: { 'aws:SourceIp': '10.0.0.0/8' } },
    },
  ],
})

const statement = (members: object): object => ({
  Effect: 'Allow',
  Principal: '*',
  Action: 's3:GetObject',
  Resource: 'arn:aws:s3:::kept/*',
  ...members,
})

test('a policy check reports each mistake with its position', () =>
  withConsole(async ({ ask }) => {
    const check = async (document: unknown, bucket?: string) => {
      const body = { document: typeof document === 'string' ? document : JSON.stringify(document), bucket }
      return (await ask({ method: 'POST', path: '/v1/policies/check', body })).json()
    }
    const pathsOf = async (...statements: object[]): Promise<unknown[]> => {
      const { problems } = await check({ Version: '2012-10-17', Statement: statements }, 'kept')
      return (problems as { path: unknown[] }[]).map(({ path }) => path.join('.'))
    }
    assert.deepEqual(await check({ Version: '2012-10-17', Statement: [statement({})] }, 'kept'), {
      problems: [],
      publicStatements: [0],
    })
    assert.deepEqual(await pathsOf(statement({ Effect: 'Maybe' }), statement({}), statement({ Effekt: 'Allow' })), [
      'Statement.0.Effect',
      'Statement.2.Effekt',
    ])
    assert.deepEqual(await pathsOf(statement({ Action: ['s3:GetObject', 's3:GetObjct'] })), ['Statement.0.Action.1'])
    assert.deepEqual(await pathsOf(statement({ Resource: 'arn:aws:s3:::other/*' })), ['Statement.0.Resource.0'])
    assert.deepEqual(await pathsOf(statement({ Principal: { AWS: 'nobody at all' } })), ['Statement.0.Principal.AWS'])
    assert.deepEqual(await pathsOf(statement({ Condition: { Bool: { 'aws:Nothing': 'true' } } })), [
      'Statement.0.Condition.Bool.aws:Nothing',
    ])
    assert.deepEqual(await pathsOf(statement({ Action: undefined })), ['Statement.0'])
    const [broken] = (await check('{ "Version": ')).problems as { message: string; path: unknown[] }[]
    assert.deepEqual(broken!.path, [])
    assert.match(broken!.message, /JSON/i)
    const [version] = (await check({ Version: '2013', Statement: [] })).problems as { path: unknown[] }[]
    assert.deepEqual(version!.path, ['Version'])
  }))

async function readerOf({ accounts, ask, parts }: Consoled) {
  await accounts.create({ accountId: ONE })
  await accounts.createUser(ONE, 'ann')
  const policies = [{ name: 'reads', document: USER_POLICY, fromFile: false }]
  await accounts.changeUser(ONE, 'ann', () => ({ policies }))
  const key = { accessKey: 'AKANN', secretKey: 'a-secret-of-some-length' }
  await accounts.createKey({ accountId: ONE, user: 'ann', ...key })
  await ask({ method: 'POST', path: '/v1/buckets', body: { name: 'kept', accountId: ONE } })
  const object = { bucket: 'kept', key: 'a', owner: canonicalIdOf(ONE), body: [Buffer.from('a')] }
  await parts.store.objects.put(object)
  return key
}

test('an explanation has the text of the policies that decide, and takes condition values', () =>
  withConsole(async consoled => {
    const { ask } = consoled
    const { accessKey } = await readerOf(consoled)
    const explained = async (conditions?: object) => {
      const body = { as: accessKey, action: 's3:GetObject', bucket: 'kept', key: 'a', conditions }
      return (await ask({ method: 'POST', path: '/v1/explain', body })).json()
    }
    const own = { policy: 'identity', number: 0, document: USER_POLICY }
    assert.deepEqual((await explained()).policies, [own])
    await ask({ method: 'PUT', path: '/v1/buckets/kept/policy', body: { document: BUCKET_POLICY } })
    assert.equal((await explained()).verdict, 'depends')
    const inside = await explained({ 'aws:SourceIp': '10.1.2.3' })
    assert.equal(inside.verdict, 'allowed')
    const outside = await explained({ 'aws:SourceIp': '192.0.2.1' })
    assert.equal(outside.verdict, 'refused')
    assert.deepEqual(outside.policies, [{ policy: 'bucket', number: 0, document: BUCKET_POLICY }])
    assert.equal((await explained({ 'aws:PrincipalAccount': ONE })).code, 'InvalidArgument')
    assert.equal((await explained({ sourceip: '10.1.2.3' })).code, 'InvalidArgument')
  }))

test('users may read their own policies, and bucket policies only with permission', () =>
  withConsole(async consoled => {
    const { ask } = consoled
    const page = await signedInPage(consoled, await readerOf(consoled))
    const own = await page.ask({ path: '/v1/session/policies' })
    assert.deepEqual(own.json(), { policies: [{ name: 'reads', document: USER_POLICY }] })
    assert.deepEqual((await (await signedInPage(consoled)).ask({ path: '/v1/session/policies' })).json().policies, [])
    const explained = async () => {
      const body = { as: 'AKANN', action: 's3:GetObject', bucket: 'kept', key: 'a' }
      return (await page.ask({ method: 'POST', path: '/v1/explain', body })).json().policies as { policy: string }[]
    }
    const policyWith = (effect: string, action: string, resource: string): string =>
      JSON.stringify({
        Version: '2012-10-17',
        Statement: [
          { Effect: 'Deny', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::kept/*' },
          { Effect: effect, Principal: '*', Action: action, Resource: resource },
        ],
      })
    const setPolicy = async (document: string) => {
      const answer = await ask({ method: 'PUT', path: '/v1/buckets/kept/policy', body: { document } })
      assert.equal(answer.status, 204, answer.text)
    }
    await setPolicy(policyWith('Allow', 's3:GetObject', 'arn:aws:s3:::kept/*'))
    assert.deepEqual(
      (await explained()).map(({ policy }) => policy),
      ['bucket'],
    )
    await setPolicy(policyWith('Deny', 's3:GetBucketPolicy', 'arn:aws:s3:::kept'))
    assert.deepEqual(await explained(), [])
  }))
