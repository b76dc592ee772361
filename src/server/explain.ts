/** Access explanations over a store, for the command line and the admin API. */
import { Explainer, type ExplainQuestion } from '../edge/explain.ts'
import type { Caller } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Actor, VersionRef } from '../model/ledger.ts'
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

type Place = VersionRef & { readonly bucket: string }

/** The entry that set the current retention; none for the bucket's default, which has no entry. */
async function retainedSince(store: Store, { bucket, ...version }: Place, until: string): Promise<Since | undefined> {
  for await (const entry of store.ledger.changesOf(bucket, version)) {
    if (entry.after.retention?.until !== until) return undefined
    if (entry.before?.retention?.until !== until) return { time: entry.time, by: actorText(entry.by) }
  }
  return undefined
}

async function lockOf(store: Store, { bucket, key, versionId }: ObjectName): Promise<LockFacts | undefined> {
  try {
    const { id, lock } = await store.objects.head({ bucket, key, versionId })
    const held = lock.hold === true ? await store.ledger.heldSince(bucket, { key, versionId: id }) : undefined
    const until = lock.retention && new Date(lock.retention.until).toISOString()
    return {
      versionId: id,
      lock,
      now: await store.context.lockClock.now(),
      heldSince: held && { time: held.time, by: actorText(held.by) },
      retainedSince:
        until === undefined ? undefined : await retainedSince(store, { bucket, key, versionId: id }, until),
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
