/** The audit log: who did what, what was refused, and why. */
import assert from 'node:assert/strict'
import { readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { AuditFile } from '../../src/server/audit-file.ts'
import type { ServingParts } from '../../src/server/object-api.ts'
import { AuditLog } from '../../src/telemetry/audit-log.ts'
import { md5Header } from '../http/actions.ts'
import { customerKey, KEY } from '../http/parts.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, READER } from '../http/server.ts'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, ROOT, until, withProgram } from '../workers/program.ts'

interface Line {
  readonly time: string
  readonly requestId: string
  readonly who?: { readonly account?: string; readonly user?: string; readonly accessKey?: string; anonymous?: boolean }
  readonly action: string
  readonly resource: string
  readonly decision: string
  readonly code: string
  readonly why?: string
  readonly reasons: readonly {
    readonly action?: string
    readonly resource?: string
    readonly decision: string
    readonly because?: readonly string[]
    readonly lock?: string
  }[]
  readonly omitted?: number
  readonly sourceAddress: string
}

interface Audited {
  readonly lines: Line[]
  readonly options: Pick<ServingParts, 'sinks'>
}

function audited(findingsMax = 2000): Audited {
  const lines: Line[] = []
  const sink = {
    findingsMax,
    write(text: string) {
      assert.match(text, /^[^\n]+\n$/)
      lines.push(JSON.parse(text))
    },
  }
  const audit = new AuditLog(sink, new ManualClock(), error => assert.fail(String(error)))
  return { lines, options: { sinks: { audit } } }
}

const shown = ({ action, resource, decision, code }: Line): string => `${action} ${resource} ${decision} ${code}`

for (const { lines, options } of [audited()]) {
  inBoth(
    'R9: changes and refusals are audited before the response, reads are not',
    async client => {
      lines.length = 0
      const bucket = await makeBucket(client)
      await client.send({ method: 'PUT', bucket, path: '/k', body: 'x' })
      await client.send({ method: 'GET', bucket, path: '/k' })
      await client.send({ method: 'GET', bucket, path: '/none' })
      await client.send({ method: 'GET', bucket, path: '/k', as: null })
      await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', as: READER })
      await client.send({ method: 'GET', bucket, path: '/k', as: { ...MAIN, secretKey: 'guess' } })
      const gone = await client.send({ method: 'DELETE', bucket: 'not-there', path: '/k' })
      assert.deepEqual(lines.map(shown), [
        `CreateBucket /${bucket} allowed ok`,
        `PutObject /${bucket}/k allowed ok`,
        `GetObject /${bucket}/k refused AccessDenied`,
        `PutObject /${bucket}/k refused AccessDenied`,
        `GetObject /${bucket}/k refused SignatureDoesNotMatch`,
        'DeleteObject /not-there/k not judged NoSuchBucket',
      ])
      const [, put, anonymous, reader, unsigned, last] = lines
      assert.deepEqual(put!.who, { account: MAIN.accountId, accessKey: MAIN.accessKey })
      assert.deepEqual(put!.reasons[0]!.because, ['account key', 'ownership: resource owner'])
      assert.deepEqual(anonymous!.who, { anonymous: true })
      assert.deepEqual([reader!.who!.user, reader!.who!.accessKey], ['reader', READER.accessKey])
      assert.deepEqual(reader!.reasons, [
        {
          action: 'PutObject',
          resource: `/${bucket}/k`,
          decision: 'refused',
          because: [
            'nothing allows it: neither a policy of the user (identity side) nor the bucket policy (resource side) ' +
              'does; one of them is enough',
          ],
        },
      ])
      assert.equal(unsigned!.who, undefined)
      assert.equal(last!.requestId, gone.own('request-id'))
      assert.match(last!.time, /^2026-01-01T00:00:00\.000Z$/)
      assert(lines.every(({ sourceAddress }) => /127\.0\.0\.1|::1/.test(sourceAddress)))
    },
    options,
  )
}

async function heldKeys(client: Client, bucket: string): Promise<{ readonly key: string; readonly id: string }[]> {
  const headers: [string, string][] = [[':object-lock-legal-hold', 'ON'], md5Header('x')]
  const out: { key: string; id: string }[] = []
  for (const key of ['a', 'b']) {
    const put = await client.send({ method: 'PUT', bucket, path: `/${key}`, body: 'x', headers })
    out.push({ key, id: put.own('version-id')! })
  }
  return out
}

for (const { lines, options } of [audited()]) {
  inBoth(
    'P31: a refusing statement or lock is named, also within a batch',
    async client => {
      const bucket = await makeBucket(client, 'test-bucket', [[':bucket-object-lock-enabled', 'true']])
      const [a, b] = await heldKeys(client, bucket)
      const deny = { Sid: 'Keep', Effect: 'Deny', Principal: '*', Action: 'svc:DeleteObjectVersion' }
      const policy = JSON.stringify({ Statement: { ...deny, Resource: `arn:svc:svc:::${bucket}/b` } })
      await client.send({ method: 'PUT', bucket, path: '/?policy', body: policy })
      lines.length = 0
      await client.send({ method: 'DELETE', bucket, path: `/a?versionId=${a!.id}` })
      await client.send({ method: 'DELETE', bucket, path: `/b?versionId=${b!.id}` })
      const object = ({ key, id }: { key: string; id: string }): string =>
        `<Object><Key>${key}</Key><VersionId>${id}</VersionId></Object>`
      const body = `<Delete>${object(a!)}${object(b!)}</Delete>`
      await client.send({ method: 'POST', bucket, path: '/?delete', body, headers: [md5Header(body)] })
      const [held, denied, batch] = lines
      assert.deepEqual([held!.decision, held!.why], ['refused', 'lock: held'])
      assert.deepEqual(denied!.reasons[0]!.because, ['Deny: bucket policy, statement 0 (Keep)'])
      assert.equal(batch!.code, 'ok')
      const told = batch!.reasons.map(({ decision, resource, lock }) => `${decision} ${resource ?? lock}`)
      assert.deepEqual(told.sort(), [`allowed /${bucket}/a`, `refused /${bucket}/b`, 'refused held'].sort())
    },
    options,
  )
}

for (const { lines, options } of [audited(2)]) {
  inBoth(
    'where not all findings fit a line, refusals come first and the rest is counted',
    async client => {
      const bucket = await makeBucket(client)
      const deny = { Effect: 'Deny', Principal: '*', Action: 'svc:DeleteObject' }
      const policy = JSON.stringify({ Statement: { ...deny, Resource: `arn:svc:svc:::${bucket}/z` } })
      await client.send({ method: 'PUT', bucket, path: '/?policy', body: policy })
      lines.length = 0
      const objects = ['a', 'b', 'c', 'z'].map(key => `<Object><Key>${key}</Key></Object>`).join('')
      const body = `<Delete>${objects}</Delete>`
      await client.send({ method: 'POST', bucket, path: '/?delete', body, headers: [md5Header(body)] })
      assert.deepEqual([lines[0]!.reasons.length, lines[0]!.omitted], [2, 2])
      assert.equal(lines[0]!.reasons[0]!.resource, `/${bucket}/z`)
    },
    options,
  )
}

for (const { lines, options } of [audited()]) {
  inBoth(
    'A72: nothing secret is in the audit log',
    async client => {
      const bucket = await makeBucket(client)
      const headers = customerKey(KEY)
      await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers })
      await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers, as: OTHER })
      await client.send({ method: 'PUT', bucket, path: '/k', body: 'x', headers, as: { ...MAIN, secretKey: 'guess' } })
      const all = JSON.stringify(lines)
      for (const secret of [
        KEY.toString('base64'),
        KEY.toString('hex'),
        MAIN.secretKey,
        OTHER.secretKey,
        'Signature=',
      ]) {
        assert(!all.includes(secret), secret)
      }
    },
    options,
  )
}

test('an audit line that cannot be written is counted and reported once; requests go on', () => {
  const told: unknown[] = []
  let isFull = true
  const write = (): void => {
    if (isFull) throw new Error('ENOSPC')
  }
  const audit = new AuditLog({ write, findingsMax: 1 }, new ManualClock(), error => told.push(error))
  const act = { requestId: 'A', method: 'POST', route: 'CreateUser', path: '/v1/users', caller: 'AK', code: 'ok' }
  const administered = (): void => audit.recordAdminEvent({ ...act, status: 201, remoteAddress: '127.0.0.1' })
  administered()
  administered()
  assert.equal(told.length, 1)
  isFull = false
  administered()
  isFull = true
  administered()
  assert.equal(told.length, 2)
  assert.deepEqual(
    audit.samples().map(([, , value]) => value),
    [1, 3],
  )
})

test('the audit log names the person who signed in with OpenID Connect, also when refused', () => {
  const lines: Record<string, unknown>[] = []
  const write = (line: string): void => void lines.push(JSON.parse(line))
  const audit = new AuditLog({ write, findingsMax: 1 }, new ManualClock(), () => {})
  const person = { issuer: 'https://login.example.com', subject: '7f3a' }
  const act = { requestId: 'A', method: 'POST', route: 'FinishOidcSignIn', path: '/v1/session/oidc/finish', person }
  audit.recordAdminEvent({ ...act, caller: 'AK', code: 'ok', status: 201, remoteAddress: undefined })
  audit.recordAdminEvent({ ...act, caller: '', code: 'AccessDenied', status: 403, remoteAddress: undefined })
  assert.deepEqual(
    lines.map(({ who }) => who),
    [{ accessKey: 'AK', ...person }, person],
  )
})

test('a rotated audit file is reopened, readable by its owner alone', () =>
  withFolder(async folder => {
    const path = join(folder, 'audit')
    const file = new AuditFile(path)
    file.write('one\n')
    renameSync(path, `${path}.1`)
    file.write('two\n')
    file.reopen()
    file.write('three\n')
    file.close()
    assert.equal(readFileSync(`${path}.1`, 'utf8'), 'one\ntwo\n')
    assert.equal(readFileSync(path, 'utf8'), 'three\n')
    assert.equal(statSync(path).mode & 0o777, 0o600)
  }))

test('every worker and the console write whole lines to one file, and reopen it on SIGHUP', () =>
  withFolder(async folder => {
    const path = join(folder, 'audit')
    const linesOf = (file: string): Line[] =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map(text => JSON.parse(text))
    await withProgram(
      folder,
      async program => {
        const put = async (prefix: string): Promise<void> => {
          const sent = Array.from({ length: 20 }, (_, at) =>
            program.client().send({ method: 'PUT', bucket: BUCKET, path: `/${prefix}${at}`, body: 'x', as: ROOT }),
          )
          for (const { status } of await Promise.all(sent)) assert.equal(status, 200)
        }
        await put('a')
        // Each was written before its response: there is nothing to wait for.
        assert.equal(linesOf(path).filter(({ action }) => action === 'PutObject').length, 20)
        const console = / console (\S+)\n/.exec(program.out)![1]!
        assert.equal((await fetch(`${console}/v1/accounts`)).status, 403)
        assert.equal(shown(linesOf(path).at(-1)!), 'admin:ListAccounts /v1/accounts refused AccessDenied')
        renameSync(path, `${path}.1`)
        program.child.kill('SIGHUP')
        let round = 0
        await until('all write to the new file', async () => {
          const before = linesOf(`${path}.1`).length
          await put(`b${round++}-`)
          return linesOf(`${path}.1`).length === before && linesOf(path).length >= 20
        })
      },
      '--console',
      '127.0.0.1:0',
      '--audit-log',
      path,
    )
  }))
