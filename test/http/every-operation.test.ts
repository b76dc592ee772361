/** Behaviour of every operation on a bucket: the expected owner, requester pays, and refusals. */
import assert from 'node:assert/strict'
import { readAccountsFile } from '../../src/rules/accounts-file.ts'
import { ensureAccounts } from '../../src/server/accounts.ts'
import type { ServerParts } from '../../src/server/compose.ts'
import { makePlace, renewed, type Send, setBefore } from '../specimens/place.ts'
import { type Case, cases, type Place, statusIn } from '../specimens/specimens.ts'
import type { Headers } from './actions.ts'
import { type Client, inBoth, MAIN, OTHER, type Received, type Served, type Who } from './server.ts'

const NAMES = { bucket: 'plain', locked: 'with-locks', empty: 'nothing-in-it', fresh: 'not-yet', key: 'k' }
/** A user of the owner's account without any policy. */
const BARE: Who = { ...MAIN, accessKey: 'AKBARE', secretKey: 'secret-of-bare' }

/** Operations on an existing bucket; operations that need none have no owner to compare. */
const CASES = cases().filter(({ operation }) => operation.match.on !== 'service' && !operation.withoutBucket)

/** Its response is always a success, with a refusal per key. */
const isBatch = ({ route }: Case): boolean => route === 'POST bucket ?delete'

async function records({ store }: ServerParts): Promise<string> {
  const entries = await store.context.meta.scan({ start: Buffer.from([0]), end: undefined }, 10_000)
  return entries.map(({ key, value }) => `${key.toString('hex')} ${value.toString('hex')}`).join('\n')
}

interface Ground {
  readonly served: Served
  readonly send: Send
  place: Place
}

async function ground(client: Client, served: Served): Promise<Ground> {
  const send: Send = what => client.send(what)
  const bare = { name: 'bare', policies: [], accessKeys: [{ accessKey: BARE.accessKey, secretKey: BARE.secretKey }] }
  const accounts = [{ accountId: MAIN.accountId, users: [bare] }]
  await ensureAccounts(served.parts.store, readAccountsFile(JSON.stringify({ accounts })))
  const place = await makePlace(send, { ...NAMES, owner: MAIN.canonicalId, until: '2030-01-01T00:00:00Z' })
  return { served, send, place }
}

/** Restores whatever earlier operations changed or consumed. */
async function renew(on: Ground, client: Client, one: Case, requesterPays = false): Promise<void> {
  const { buckets, documents } = on.served.parts.store
  on.place = await renewed(on.send, on.place, 'empty')
  if (one.route.includes('uploadId')) on.place = await renewed(on.send, on.place, 'upload')
  await setBefore(on.send, one, on.place, client.dialect)
  for (const name of [NAMES.bucket, NAMES.locked, NAMES.empty]) {
    const Resource = [`arn:svc:svc:::${name}`, `arn:svc:svc:::${name}/*`]
    const statement = { Effect: 'Allow', Principal: { SVC: OTHER.accountId }, Action: '*', Resource }
    await buckets.configure(name, () => ({ grants: [], requesterPays }))
    if (requesterPays) await documents.put(name, 'policy', JSON.stringify({ Statement: statement }))
  }
}

const ask = (on: Ground, client: Client, one: Case, as: Who | null, more: Headers = []): Promise<Received> => {
  const asked = one.specimen.ask(on.place, client.dialect)
  return client.send({ method: one.operation.match.method, ...asked, headers: [...(asked.headers ?? []), ...more], as })
}

/** Without a signature, only a header shows the dialect. */
const owner = (accountId: string): Headers => [[':expected-bucket-owner', accountId]]

inBoth(
  'R7 R9 R70 R91 R115: every operation refuses a wrong owner and missing permission, without effect',
  async (client, served) => {
    const on = await ground(client, served)
    for (const one of CASES) {
      await renew(on, client, one)
      const before = await records(served.parts)
      const wrong = await ask(on, client, one, MAIN, owner(OTHER.accountId))
      assert.equal(wrong.status, 403, `${one.route}: ${wrong.body}`)
      for (const as of [OTHER, BARE, null]) {
        const refused = await ask(on, client, one, as, owner(MAIN.accountId))
        if (isBatch(one)) assert.match(refused.body.toString(), /<Code>AccessDenied<\/Code>/)
        else assert.equal(refused.status, 403, `${one.route} as ${as?.accessKey}: ${refused.status} ${refused.body}`)
      }
      assert.equal(await records(served.parts), before, one.route)
      const right = await ask(on, client, one, MAIN, owner(MAIN.accountId))
      assert.equal(right.status, statusIn(one.specimen, client.dialect), `${one.route}: ${right.body}`)
    }
  },
)

inBoth(
  'R8: in a requester-pays bucket every operation requires acceptance and reports the charge',
  async (client, served) => {
    const on = await ground(client, served)
    const payer: Headers = [[':request-payer', 'requester']]
    // D29. Other accounts cannot reach the policy.
    for (const one of CASES.filter(({ route }) => !/ bucket \?policy$/.test(route))) {
      await renew(on, client, one, true)
      const before = await records(served.parts)
      for (const [as, headers] of [
        [OTHER, []],
        [OTHER, [[':request-payer', 'somebody']]],
        [null, payer],
      ] as const) {
        const refused = await ask(on, client, one, as, [...headers, ...owner(MAIN.accountId)])
        assert.equal(refused.status, 403, `${one.route}: ${refused.body}`)
        assert.equal(refused.own('request-charged'), undefined)
      }
      assert.equal(await records(served.parts), before, one.route)
      const wanted = statusIn(one.specimen, client.dialect)
      const charged = await ask(on, client, one, OTHER, payer)
      assert.equal(charged.status, wanted, `${one.route}: ${charged.body}`)
      if (wanted < 300) assert.equal(charged.own('request-charged'), 'requester', one.route)
      await renew(on, client, one, true)
      const own = await ask(on, client, one, MAIN)
      assert.equal(own.status, wanted, `${one.route}: ${own.body}`)
      assert.equal(own.own('request-charged'), undefined)
    }
  },
)
