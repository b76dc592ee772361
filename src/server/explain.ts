/** Access explanations over a store, for the command line and the admin API. */
import { Explainer, type ExplainQuestion } from '../edge/explain.ts'
import type { Caller, Credential } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Actor } from '../model/ledger.ts'
import type { ObjectName } from '../operations/context.ts'
import type { Explanation, LockFacts, Since } from '../rules/explanation.ts'
import type { IdentityCache, IdentitySnapshot } from '../store/identity/identity-cache.ts'
import { CurrentFacts } from '../store/request-session.ts'
import type { Store } from '../store/store.ts'

export interface StoreQuestion extends Omit<ExplainQuestion, 'as'> {
  /** The caller's access key, `ACCOUNT/USER` or `ACCOUNT`; undefined for an anonymous caller. */
  readonly accessKey: string | undefined
}

const actorText = ({ account, user, accessKey, request }: Actor): string =>
  [
    user === undefined ? `account ${account}` : `user ${user} of account ${account}`,
    ...(accessKey === undefined ? [] : [`key ${accessKey}`]),
    ...(request === undefined ? [] : [`request ${request}`]),
  ].join(', ')

const sinceOf = (origin: { readonly time: string; readonly by: Actor } | undefined): Since | undefined =>
  origin && { time: origin.time, by: actorText(origin.by) }

async function lockOf(store: Store, { bucket, key, versionId }: ObjectName): Promise<LockFacts | undefined> {
  try {
    const { id, lock } = await store.objects.head({ bucket, key, versionId })
    const version = { key, versionId: id }
    const until = lock.retention && new Date(lock.retention.until).toISOString()
    return {
      versionId: id,
      lock,
      now: await store.context.lockClock.now(),
      heldSince: sinceOf(lock.hold === true ? await store.ledger.heldSince(bucket, version) : undefined),
      retainedSince: sinceOf(
        until === undefined ? undefined : await store.ledger.retainedSince(bucket, version, until),
      ),
    }
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** An account or a user of it, who may have no key: `ACCOUNT` or `ACCOUNT/USER`. */
const NAMED = /^(?<accountId>\d{12})(?:\/(?<user>[^\0]+))?$/

async function named(identities: IdentitySnapshot, name: string): Promise<Omit<Credential, 'secretKey'> | undefined> {
  const { accountId, user } = NAMED.exec(name)?.groups ?? {}
  const found = accountId === undefined ? undefined : await identities.find(accountId, user)
  return found && { ...found, accessKey: '' }
}

async function callerOf(identities: IdentitySnapshot, as: string | undefined): Promise<Caller> {
  if (as === undefined) return { kind: 'anonymous' }
  const found = (await identities.findCredential(as)) ?? (await named(identities, as))
  if (found === undefined) throw new Fault('InvalidAccessKeyId', { SvcAccessKeyId: as })
  const { account, user, accessKey } = found
  return user === undefined ? { kind: 'account', account, accessKey } : { kind: 'user', account, user, accessKey }
}

export async function explain(
  store: Store,
  directory: IdentityCache,
  { accessKey, ...question }: StoreQuestion,
): Promise<Explanation> {
  const accounts = await directory.now()
  const as = await callerOf(accounts, accessKey)
  const parts = { facts: new CurrentFacts(store), accounts, lock: (name: ObjectName) => lockOf(store, name) }
  return new Explainer({ ...parts, now: store.context.clock.now() }).explain({ ...question, as })
}
