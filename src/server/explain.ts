/** Access explanations over a store, for the command line and the admin API. */
import { Explainer, type ExplainQuestion } from '../edge/explain.ts'
import type { Caller } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Actor } from '../model/ledger.ts'
import type { ObjectName } from '../operations/context.ts'
import type { Explanation, LockFacts, Since } from '../rules/explanation.ts'
import type { IdentityCache, IdentitySnapshot } from '../store/identity/identity-cache.ts'
import { CurrentFacts } from '../store/request-session.ts'
import type { Store } from '../store/store.ts'

/** A question with the caller's access key; undefined for an anonymous caller. */
export interface StoreQuestion extends Omit<ExplainQuestion, 'as'> {
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

async function callerOf(identities: IdentitySnapshot, accessKey: string | undefined): Promise<Caller> {
  if (accessKey === undefined) return { kind: 'anonymous' }
  const found = await identities.findCredential(accessKey)
  if (found === undefined) throw new Fault('InvalidAccessKeyId', { SvcAccessKeyId: accessKey })
  const { account, user } = found
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
