/**
 * Every kind of caller × every grant, mode, block and policy × every operation: all of them on the evaluator, and real
 * requests on a selection of the relevant pairs. The slow reference provides the expected results.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACTIONS, actionFacts } from '../../src/rules/access/actions.ts'
import { evaluate } from '../../src/rules/access/evaluate.ts'
import { readAccountsFile } from '../../src/rules/accounts-file.ts'
import { ensureAccounts } from '../../src/server/accounts.ts'
import { explain } from '../../src/server/explain.ts'
import { IdentityCache } from '../../src/store/identity/identity-cache.ts'
import type { Store } from '../../src/store/store.ts'
import type { Headers } from '../http/actions.ts'
import { type Client, inBoth, MAIN, makeBucket, OTHER, type Sending, type Who } from '../http/server.ts'
import { shortOrLong } from '../long.ts'
import {
  ASKERS,
  type Asker,
  allStates,
  BUCKET,
  expected,
  fewStates,
  keyOf,
  requestOf,
  type State,
  USERS,
  type Wanted,
} from './matrix.ts'
import { referenceAllows } from './reference.ts'

/** All of it takes minutes. One in this many is tested, a different one with each seed. */
const STRIDE = Number(process.env.HOLDFAST_STRIDE ?? 83)
const REQUEST_STRIDE = Number(process.env.HOLDFAST_STRIDE ?? 19)
/** Coprime to the lengths of all lists that states are made of, so that no member is skipped. */
const STATE_STRIDE = shortOrLong(11, 1)
const SEED = Number(process.env.HOLDFAST_SEED ?? 0)

const takes = (stride: number, from: number) => {
  let count = from
  return (): boolean => count++ % stride === 0
}

test('D29 R31 R99 R106 G6 G7: every caller, grant, mode, block, policy and action, by the reference', () => {
  const seen = { allowed: 0, refused: 0 }
  const isNext = takes(STRIDE, SEED)
  const isNextState = takes(STATE_STRIDE, SEED)
  for (const state of allStates()) {
    if (!isNextState()) continue
    for (const { name, caller } of ASKERS) {
      for (const action of ACTIONS.keys()) {
        if (!isNext()) continue
        const { on, authorizedBy } = actionFacts(action)
        if (on === 'service' || action === 'CreateBucket') continue
        const about = on === 'bucket' ? 'bucket' : authorizedBy === 'bucket' ? 'new' : 'stored'
        const request = requestOf(state, caller, { action, about })
        const { allowed, reasons } = evaluate(request)
        if (allowed !== referenceAllows(request)) {
          assert.fail(
            `${name} ${action} is ${allowed ? 'allowed' : 'refused'} ${JSON.stringify(reasons)} in ${state.name}`,
          )
        }
        seen[allowed ? 'allowed' : 'refused'] += 1
      }
    }
  }
  const all = seen.allowed + seen.refused
  assert(seen.allowed > all / 20 && seen.refused > all / 20, JSON.stringify(seen))
})

interface Asked {
  readonly send: Omit<Sending, 'bucket'>
  readonly needs: readonly Wanted[]
}

/**
 * None of these has an effect: a request that would change something is invalid in a way that only authorized callers
 * see.
 */
const SPOILT: Headers = [[':storage-class', 'NONE']]
const put = (path: string, headers: Headers = []): Asked['send'] => ({ method: 'PUT', path, headers })
const read = (path: string, headers: Headers = []): Asked['send'] => ({ method: 'GET', path, headers })
const source: Headers = [[':copy-source', `${BUCKET}/k`], ...SPOILT]

const OPERATIONS: readonly Asked[] = [
  { send: read('/'), needs: [{ action: 'ListBucket', about: 'bucket' }] },
  { send: read('/?versions'), needs: [{ action: 'ListBucketVersions', about: 'bucket' }] },
  { send: read('/?uploads'), needs: [{ action: 'ListBucketMultipartUploads', about: 'bucket' }] },
  { send: read('/?acl'), needs: [{ action: 'GetBucketAcl', about: 'bucket' }] },
  { send: put('/?acl'), needs: [{ action: 'PutBucketAcl', about: 'bucket' }] },
  { send: read('/?policy'), needs: [{ action: 'GetBucketPolicy', about: 'bucket' }] },
  { send: put('/?policy'), needs: [{ action: 'PutBucketPolicy', about: 'bucket' }] },
  { send: put('/?lifecycle'), needs: [{ action: 'PutLifecycleConfiguration', about: 'bucket' }] },
  { send: read('/?policyStatus'), needs: [{ action: 'GetBucketPolicyStatus', about: 'bucket' }] },
  { send: read('/k'), needs: [{ action: 'GetObject', about: 'stored' }] },
  { send: read('/k?versionId=null'), needs: [{ action: 'GetObjectVersion', about: 'stored' }] },
  { send: read('/k?acl'), needs: [{ action: 'GetObjectAcl', about: 'stored' }] },
  { send: put('/k?acl'), needs: [{ action: 'PutObjectAcl', about: 'stored' }] },
  { send: put('/k?acl&versionId=null'), needs: [{ action: 'PutObjectVersionAcl', about: 'stored' }] },
  { send: read('/k?tagging'), needs: [{ action: 'GetObjectTagging', about: 'stored' }] },
  { send: put('/k?tagging'), needs: [{ action: 'PutObjectTagging', about: 'stored' }] },
  { send: put('/k?legal-hold'), needs: [{ action: 'PutObjectLegalHold', about: 'stored' }] },
  { send: put('/k?retention'), needs: [{ action: 'PutObjectRetention', about: 'stored' }] },
  {
    send: read('/k?attributes', [[':object-attributes', 'ETag']]),
    needs: [
      { action: 'GetObject', about: 'stored' },
      { action: 'GetObjectAttributes', about: 'stored' },
    ],
  },
  { send: put('/new', SPOILT), needs: [{ action: 'PutObject', about: 'new', key: 'new' }] },
  {
    // The object now stored, and its owner, do not affect its replacement.
    send: put('/k', [...SPOILT, [':acl', 'private']]),
    needs: [
      { action: 'PutObject', about: 'new' },
      { action: 'PutObjectAcl', about: 'own' },
    ],
  },
  {
    send: put('/k', [...SPOILT, [':tagging', 'a=b']]),
    needs: [
      { action: 'PutObject', about: 'new' },
      { action: 'PutObjectTagging', about: 'new' },
    ],
  },
  { send: { method: 'DELETE', path: '/gone' }, needs: [{ action: 'DeleteObject', about: 'new', key: 'gone' }] },
  {
    send: { method: 'DELETE', path: '/gone?versionId=null' },
    needs: [{ action: 'DeleteObjectVersion', about: 'new', key: 'gone' }],
  },
  {
    send: { method: 'POST', path: '/new?uploads', headers: SPOILT },
    needs: [{ action: 'PutObject', about: 'new', key: 'new', needsName: true }],
  },
  {
    send: put('/new', source),
    needs: [
      { action: 'GetObject', about: 'stored', needsName: true },
      { action: 'PutObject', about: 'new', key: 'new', needsName: true },
    ],
  },
]

async function bring(store: Store, { facts, objectOwner, objectGrants }: State): Promise<void> {
  const { grants, ownership, publicAccessBlock, policy } = facts
  await store.buckets.configure(BUCKET, () => ({ grants, ownership, publicAccessBlock }))
  if (policy === undefined) await store.documents.remove(BUCKET, 'policy')
  else await store.documents.put(BUCKET, 'policy', policy)
  const attributes = { headers: [], metadata: [], tags: [], redirect: undefined, storageClass: undefined }
  const object = { bucket: BUCKET, key: 'k', owner: objectOwner, body: [Buffer.from('x')] }
  await store.objects.put({ ...object, attributes: { ...attributes, grants: objectGrants } })
}

const accountGiven = (of: Who) => ({
  accountId: of.accountId,
  users: USERS.map(({ name, policies }) => {
    const { accessKey, secretKey } = keyOf(of, name)
    return { name, policies, accessKeys: [{ accessKey, secretKey }] }
  }),
})

async function checkAsked(client: Client, state: State, asker: Asker, { send, needs }: Asked): Promise<boolean> {
  // Without a signature, only a header shows the dialect.
  const headers: Headers = [...(send.headers ?? []), [':expected-bucket-owner', MAIN.accountId]]
  const answer = await client.send({ ...send, headers, bucket: BUCKET, as: asker.as })
  const wanted = expected(state, asker.caller, needs)
  assert.notEqual(answer.status, 500)
  const isRefused = answer.status === 403 || answer.code() === 'MethodNotAllowed'
  if ((isRefused ? answer.status : 200) !== wanted) {
    const told = `${answer.status} ${answer.body}`
    assert.fail(`${asker.name} ${send.method} ${send.path} ${JSON.stringify(send.headers)} in ${state.name}: ${told}`)
  }
  return wanted === 200
}

/** The explanation must match the real decision. */
async function checkExplained(store: Store, state: State, { name, as, caller }: Asker, asked: Asked): Promise<void> {
  const [need, another] = asked.needs
  if (another !== undefined || need!.needsName) return
  const { action, key = 'k' } = need!
  const directory = new IdentityCache(store.context, undefined)
  const found = await explain(store, directory, { accessKey: as?.accessKey, action, bucket: BUCKET, key })
  const wanted = expected(state, caller, asked.needs) === 200
  assert.equal(found.verdict === 'allowed', wanted, `${name} ${action} in ${state.name}`)
}

const QUESTIONS = ASKERS.flatMap(asker => OPERATIONS.map(asked => ({ asker, asked })))

inBoth(
  'D29 R9 R60 R70 R106 G6 G7: real requests of every caller, and their explanations',
  async (client, { parts }) => {
    await ensureAccounts(parts.store, readAccountsFile(JSON.stringify({ accounts: [MAIN, OTHER].map(accountGiven) })))
    await makeBucket(client, BUCKET)
    const seen = { allowed: 0, refused: 0 }
    const isNext = takes(REQUEST_STRIDE, SEED + (client.dialect === 'svc' ? 0 : 9))
    for (const state of [...fewStates()].filter(takes(STATE_STRIDE, SEED))) {
      await bring(parts.store, state)
      for (const { asker, asked } of QUESTIONS.filter(isNext)) {
        seen[(await checkAsked(client, state, asker, asked)) ? 'allowed' : 'refused'] += 1
        await checkExplained(parts.store, state, asker, asked)
      }
    }
    const enough = 200 / STATE_STRIDE
    assert(seen.allowed > enough && seen.refused > enough, JSON.stringify(seen))
  },
)
