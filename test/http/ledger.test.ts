import assert from 'node:assert/strict'
import { verifyLedger } from '../../src/rules/suite-ledger.ts'
import { document, lockBucket, md5Header, outcome, put } from './actions.ts'
import { type Client, inBoth, MAIN, OTHER } from './server.ts'

const hold = (client: Client, bucket: string, status: string) =>
  client.send({
    method: 'PUT',
    bucket,
    path: '/k?legal-hold',
    ...document(
      `<LegalHold><Status>${status}</Status></LegalHold>`,
      client.dialect === 'svc' ? [[':legal-hold', status]] : [],
    ),
  })

inBoth('P31: the ledger records actor, access key and request', async (client, { parts, clock }) => {
  const bucket = await lockBucket(client)
  const id = await put(client, bucket, '/k')
  const held = await hold(client, bucket, 'ON')
  const refused = await client.send({ method: 'DELETE', bucket, path: `/k?versionId=${id}` })
  assert.equal(outcome(refused), '403 AccessDenied')
  const body = `<Delete><Object><Key>k</Key><VersionId>${id}</VersionId></Object></Delete>`
  await client.send({ method: 'POST', bucket, path: '/?delete', ...document(body) })
  // A caller whom the policy refuses never reaches the lock.
  await client.send({ method: 'DELETE', bucket, path: `/k?versionId=${id}`, as: OTHER })
  await hold(client, bucket, 'OFF')
  const until = new Date(clock.now() + 3_600_000).toISOString()
  const headers = [md5Header('x'), [':object-lock-mode', 'GOVERNANCE'], [':object-lock-retain-until-date', until]]
  await put(client, bucket, '/g', 'x', headers as [string, string][])
  const { ledger } = parts.store
  const entries = await ledger.entries(bucket)
  assert.deepEqual(
    entries.map(entry => entry.what),
    ['configuration', 'hold', 'delete refused', 'delete refused', 'hold', 'created'],
  )
  for (const { by } of entries) assert.deepEqual([by.account, by.accessKey], [MAIN.accountId, MAIN.accessKey])
  assert.equal(entries[1]!.by.request, held.own('request-id'))
  assert.equal(entries[2]!.by.request, refused.own('request-id'))
  const lines: string[] = []
  for await (const line of ledger.export(bucket)) lines.push(line)
  assert.equal(verifyLedger(lines, { publicKey: ledger.publicKey }).problem, undefined)
  assert(!lines.join().includes(MAIN.secretKey))
})

inBoth('P12 P31: a bypass is recorded only if it was needed', async (client, { parts, clock }) => {
  const bucket = await lockBucket(client)
  const until = new Date(clock.now() + 3_600_000).toISOString()
  const lock = [[':object-lock-mode', 'GOVERNANCE'], [':object-lock-retain-until-date', until], md5Header('x')]
  const bypass: [string, string] = [':bypass-governance-retention', 'true']
  const [locked, free] = [
    await put(client, bucket, '/k', 'x', lock as [string, string][]),
    await put(client, bucket, '/k', 'y'),
  ]
  for (const id of [locked, free]) {
    const gone = await client.send({ method: 'DELETE', bucket, path: `/k?versionId=${id}`, headers: [bypass] })
    assert.equal(gone.status, 204)
  }
  const removed = (await parts.store.ledger.entries(bucket)).filter(({ what }) => what === 'removed')
  assert.deepEqual(
    removed.map(entry => 'versionId' in entry && entry.versionId),
    [locked],
  )
})
