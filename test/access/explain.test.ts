/** Explanations of decisions, as text and as JSON, for questions with known results. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fault } from '../../src/model/faults.ts'
import { type Explanation, explanationJson, explanationText } from '../../src/rules/explanation.ts'
import { explain, type StoreQuestion } from '../../src/server/explain.ts'
import { Accounts } from '../../src/store/identity/accounts.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import { document, type Headers, lockBucket, md5Header, put } from '../http/actions.ts'
import { type Client, MAIN, makeBucket, OTHER, READER, type Served, withServer } from '../http/server.ts'

const DAY_MS = 86_400_000

type Ask = (question: Partial<StoreQuestion> & { readonly action: string }) => Promise<Explanation>

const asking = ({ parts: { store } }: Served, bucket: string): Ask => {
  const directory = new IdentityCache(store.context, undefined)
  return question => explain(store, directory, { accessKey: MAIN.accessKey, bucket, key: 'k', ...question })
}

const hold = (client: Client, status: string): { body: string; headers: Headers } =>
  document(
    `<LegalHold><Status>${status}</Status></LegalHold>`,
    client.dialect === 'svc' ? [[':legal-hold', status]] : [],
  )

const short = ({ verdict, because }: Explanation): string => `${verdict} ${because}`

async function setPolicy(client: Client, bucket: string, ...statements: readonly object[]): Promise<void> {
  const body = JSON.stringify({ Version: '2012-10-17', Statement: statements })
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/?policy', body })).status, 204)
}

test('explain: a user is asked about by name, without a key', () =>
  withServer(async served => {
    const { svc, parts } = served
    const bucket = await makeBucket(svc)
    await put(svc, bucket, '/k', 'x')
    const accounts = new Accounts(parts.store.context)
    await accounts.createUser('111111111111', 'keyless')
    const ask = asking(served, bucket)
    const keyless = await ask({ action: 'svc:GetObject', accessKey: '111111111111/keyless' })
    assert.equal(short(keyless), 'refused access')
    assert.match(explanationText(keyless), /as user keyless of account 111111111111: refused\n/)
    assert.equal(short(await ask({ action: 'svc:GetObject', accessKey: '111111111111' })), 'allowed access')
    for (const accessKey of ['111111111111/nobody', '999999999999', 'nobody']) {
      await assert.rejects(ask({ action: 'svc:GetObject', accessKey }), { code: 'InvalidAccessKeyId' })
    }
    await accounts.changeUser('111111111111', 'keyless', () => ({ disabled: true }))
    await assert.rejects(ask({ action: 'svc:GetObject', accessKey: '111111111111/keyless' }), Fault)
  }))

test('explain: the statement, grant or rule that decides, by the key of whoever would do it', () =>
  withServer(async served => {
    const { svc } = served
    const bucket = await makeBucket(svc)
    await put(svc, bucket, '/k', 'x', [[':grant-read', `id="${OTHER.canonicalId}"`]])
    const ask = asking(served, bucket)
    const own = await ask({ action: 'svc:GetObject' })
    assert.equal(short(own), 'allowed access')
    assert.match(
      explanationText(own),
      /^svc:GetObject on test-bucket\/k as account 111111111111 \(key AKMAIN\): allowed\n/,
    )
    const granted = await ask({ action: 's3:getobject', accessKey: OTHER.accessKey })
    assert.equal(short(granted), 'allowed access')
    assert.deepEqual(granted.access.reasons[0], {
      kind: 'grant',
      on: 'object',
      index: 0,
      grant: { grantee: OTHER.canonicalId, group: false, permission: 'READ' },
    })
    const nobody = await ask({ action: 'GetObject', accessKey: undefined })
    assert.equal(short(nobody), 'refused access')
    assert.match(explanationText(nobody), /as an anonymous caller: refused\n {2}access: refused\n {4}nothing allows it/)
    const resource = `arn:svc:svc:::${bucket}/*`
    const no = { Sid: 'NoReading', Effect: 'Deny', Principal: '*', Action: 'svc:GetObject', Resource: resource }
    await setPolicy(svc, bucket, no)
    const denied = await ask({ action: 'svc:GetObject', accessKey: READER.accessKey })
    assert.equal(short(denied), 'refused access')
    assert.match(explanationText(denied), /as user reader of account 111111111111 \(key AKREADER\): refused/)
    assert.match(explanationText(denied), /Deny: bucket policy, statement 0 \(NoReading\)/)
    const json = JSON.parse(JSON.stringify(explanationJson(denied)))
    assert.deepEqual(json.asked.as, { kind: 'user', account: MAIN.accountId, user: 'reader', accessKey: 'AKREADER' })
    assert.deepEqual([json.verdict, json.because, json.lock], ['refused', 'access', null])
    assert.equal(json.access.reasons[0].sid, 'NoReading')
    assert(!JSON.stringify(json).includes(READER.secretKey))
  }))

test('explain: says which side lacks the grant', () =>
  withServer(async served => {
    const { svc, parts } = served
    const bucket = await makeBucket(svc)
    await put(svc, bucket, '/k')
    const ask = asking(served, bucket)
    const accounts = new Accounts(parts.store.context)
    await accounts.createUser(OTHER.accountId, 'stranger')
    const stranger = { accountId: OTHER.accountId, user: 'stranger', accessKey: 'AKSTRANGER' }
    await accounts.createKey({ ...stranger, secretKey: 'the-secret-of-the-stranger' })
    const sideOf = async (action: string, accessKey: string | undefined): Promise<unknown> => {
      const { access } = await ask({ action, accessKey })
      const [reason] = access.reasons
      return reason?.kind === 'nothing allows' ? reason.side : access
    }
    assert.equal(await sideOf('PutObject', READER.accessKey), 'either')
    assert.equal(await sideOf('GetObject', undefined), 'resource')
    assert.equal(await sideOf('GetObject', OTHER.accessKey), 'resource')
    assert.equal(await sideOf('GetObject', 'AKSTRANGER'), 'both')
    const everybody = {
      Effect: 'Allow',
      Principal: '*',
      Action: 'svc:GetObject',
      Resource: `arn:svc:svc:::${bucket}/*`,
    }
    await setPolicy(svc, bucket, everybody)
    assert.equal(await sideOf('GetObject', 'AKSTRANGER'), 'identity')
    const told = explanationText(await ask({ action: 'GetObject', accessKey: 'AKSTRANGER' }))
    assert.match(told, /nothing allows it: no policy of the user does \(identity side\)$/m)
  }))

test('explain: a decision that depends on the rest of the request lists what it depends on', () =>
  withServer(async served => {
    const bucket = await makeBucket(served.svc)
    await put(served.svc, bucket, '/k')
    const ask = asking(served, bucket)
    const inside = { IpAddress: { 'svc:SourceIp': '10.0.0.0/8' } }
    const everyone = { Principal: '*', Action: 'svc:GetObject', Resource: `arn:svc:svc:::${bucket}/*` }
    await setPolicy(served.svc, bucket, { ...everyone, Effect: 'Allow', Condition: inside })
    const open = await ask({ action: 'GetObject', accessKey: undefined })
    assert.equal(short(open), 'depends access')
    assert.deepEqual(open.dependsOn, ['sourceip'])
    assert.match(
      explanationText(open),
      /: depends on condition values of the request\n.*\n.*\n {2}depends on: sourceip/s,
    )
    const from = (address: string) => new Map([['sourceip', [address]]])
    const near = await ask({ action: 'GetObject', accessKey: undefined, context: from('10.1.2.3') })
    const far = await ask({ action: 'GetObject', accessKey: undefined, context: from('192.168.0.1') })
    assert.deepEqual([short(near), short(far)], ['allowed access', 'refused access'])
    // The owner is allowed either way: it depends on nothing.
    assert.equal(short(await ask({ action: 'GetObject' })), 'allowed access')
    await setPolicy(served.svc, bucket, { ...everyone, Effect: 'Deny', Condition: inside })
    assert.equal(short(await ask({ action: 'GetObject' })), 'depends access')
    assert.equal(short(await ask({ action: 'PutObject' })), 'allowed access')
  }))

test('explain: a lock that stops a delete is shown with kind, time, actor and who may bypass it', () =>
  withServer(async served => {
    const { svc, clock } = served
    const bucket = await lockBucket(svc)
    const version = await put(svc, bucket, '/k')
    const ask = asking(served, bucket)
    const named = { action: 'svc:DeleteObject', versionId: version! }
    assert.equal(short(await ask(named)), 'allowed access')
    const since = new Date(clock.now()).toISOString()
    assert.equal((await svc.send({ method: 'PUT', bucket, path: '/k?legal-hold', ...hold(svc, 'ON') })).status, 200)
    clock.move(DAY_MS)
    const held = await ask(named)
    assert.equal(held.request.action, 'DeleteObjectVersion')
    assert.deepEqual([short(held), held.stoppedBy], ['refused lock', 'held'])
    const by = `account ${MAIN.accountId}, key ${MAIN.accessKey}, request `
    const line = `lock of ${version}: legal hold, since ${since}, by ${by}`
    assert(explanationText(held).includes(line), explanationText(held))
    const json = JSON.parse(JSON.stringify(explanationJson(held)))
    assert.deepEqual([json.lock.hold, json.lock.heldSince.time, json.lock.stops], ['ON', since, 'held'])
    // D10: without a version, one dialect keeps a held object current and the other hides it.
    assert.equal(short(await ask({ action: 'svc:DeleteObject' })), 'refused lock')
    assert.equal(short(await ask({ action: 's3:DeleteObject' })), 'allowed access')
    assert.equal(short(await ask({ action: 'PutObject' })), 'allowed access')
    assert.equal((await svc.send({ method: 'PUT', bucket, path: '/k?legal-hold', ...hold(svc, 'OFF') })).status, 200)
    assert.equal(short(await ask(named)), 'allowed access')
  }))

test('explain: retention stops until it is over; governance yields to a bypass that is asked for and allowed', () =>
  withServer(async served => {
    const { svc, clock } = served
    const bucket = await lockBucket(svc)
    const until = new Date(clock.now() + 10 * DAY_MS).toISOString()
    const made = new Date(clock.now()).toISOString()
    const versions: Record<string, string> = {}
    for (const mode of ['GOVERNANCE', 'COMPLIANCE']) {
      versions[mode] = (await put(svc, bucket, '/k', 'x', [
        md5Header('x'),
        [':object-lock-mode', mode],
        [':object-lock-retain-until-date', until],
      ]))!
    }
    const ask = asking(served, bucket)
    const [governance, compliance] = [versions.GOVERNANCE!, versions.COMPLIANCE!]
    const deleting = { action: 'DeleteObject', versionId: governance }
    const retained = await ask(deleting)
    assert.deepEqual([short(retained), retained.stoppedBy], ['refused lock', 'governance'])
    const text = explanationText(retained)
    assert(text.includes(`governance retention until ${until}, since ${made}, by account ${MAIN.accountId}`), text)
    assert.match(
      text,
      /governance retention can be bypassed; the caller has that permission and must request the bypass/,
    )
    assert.equal(short(await ask({ ...deleting, bypass: true })), 'allowed access')
    assert.equal(short(await ask({ ...deleting, versionId: compliance, bypass: true })), 'refused lock')
    const Resource = `arn:svc:svc:::${bucket}/*`
    const allow = { Effect: 'Allow', Principal: { SVC: OTHER.accountId }, Action: 'svc:DeleteObjectVersion', Resource }
    await setPolicy(svc, bucket, allow)
    const other = await ask({ ...deleting, bypass: true, accessKey: OTHER.accessKey })
    assert.equal(short(other), 'refused lock')
    assert.match(explanationText(other), /the caller does not have that permission/)
    clock.move(11 * DAY_MS)
    assert.equal(short(await ask(deleting)), 'allowed access')
    assert.match(explanationText(await ask(deleting)), /\(expired\)/)
  }))

test('explain: a missing object is shown to callers who may learn that; invalid questions are refused', () =>
  withServer(async served => {
    const bucket = await makeBucket(served.svc)
    const ask = asking(served, bucket)
    const own = await ask({ action: 'GetObject', key: 'none' })
    assert.equal(short(own), 'refused missing')
    assert.match(
      explanationText(own),
      /refused, since there is no such object\n {2}to learn that there is no such object: allowed/,
    )
    assert.equal(short(await ask({ action: 'GetObject', key: 'none', accessKey: OTHER.accessKey })), 'refused access')
    assert.equal(short(await ask({ action: 'CreateBucket', bucket: 'not-yet' })), 'allowed access')
    assert.equal(short(await ask({ action: 'ListAllMyBuckets', bucket: undefined })), 'allowed access')
    const fault = async (promise: Promise<unknown>): Promise<string> => {
      const error: unknown = await promise.catch(caught => caught)
      return error instanceof Fault ? error.code : String(error)
    }
    assert.equal(await fault(ask({ action: 'svc:Dance' })), 'InvalidArgument')
    assert.equal(await fault(ask({ action: 'iam:GetObject' })), 'InvalidArgument')
    assert.equal(await fault(ask({ action: 'GetObject', key: undefined })), 'InvalidArgument')
    assert.equal(await fault(ask({ action: 'ListBucket', bucket: undefined })), 'InvalidArgument')
    assert.equal(await fault(ask({ action: 'ListBucket', bucket: 'no-such-bucket' })), 'NoSuchBucket')
    assert.equal(await fault(ask({ action: 'GetObject', accessKey: 'AKUNKNOWN' })), 'InvalidAccessKeyId')
  }))
