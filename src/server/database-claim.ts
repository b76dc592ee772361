/**
 * A command that brings the records of a store into an empty database claims it first, by the record `x incoming`.
 * While that is there, no server starts on the database, and only the command that wrote it last can commit.
 */
import type { Check, Meta, Write } from '../meta/meta.ts'
import { FencedMeta, fenceAt } from '../store/commit/fenced-meta.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import { incomingFormat } from '../store/commit/server-records.ts'
import { KEYRING_KEY, keyringIdFormat } from '../store/keys/keyring-id.ts'
import { BadConfig } from './bad-config.ts'

interface DatabaseClaim {
  /** Only a claim with the same id is continued. */
  readonly id: Buffer
  /** Completes the message about a database that is not empty. */
  readonly purpose: string
}

/** The result commits only while no later run has claimed the database and no server can start on it. */
export async function claimDatabase(database: Meta, { id, purpose }: DatabaseClaim): Promise<FencedMeta> {
  const key = recordKey.incoming()
  const before = await database.get(key)
  if (before === undefined && (await database.scan({ start: Buffer.alloc(0), end: undefined }, 1)).length > 0) {
    throw new BadConfig(`the database is not empty: ${purpose} into an empty database`)
  }
  if (before !== undefined && !incomingFormat.decode(before.value).equals(id)) {
    throw new BadConfig('the database has a part of another store, or of another restore: empty it first')
  }
  const checks: Check[] = [{ key, stamp: before?.stamp }]
  // A server that starts on the empty database at this moment writes its owner first.
  if (before === undefined) checks.push({ key: recordKey.owner(), stamp: undefined })
  const isClaimed = await database.commit({ checks, writes: [{ key, value: incomingFormat.encode(id) }] })
  const lost = (): Error => new BadConfig('the database was taken by another command or server')
  if (!isClaimed) throw lost()
  return new FencedMeta(database, [await fenceAt(database, key, lost)])
}

/** In one commit with these last writes. From here on a server can start on the database. */
export async function releaseDatabase(claimed: Meta, writes: readonly Write[] = []): Promise<void> {
  const isReleased = await claimed.commit({
    checks: [],
    writes: [{ key: recordKey.incoming(), value: undefined }, ...writes],
  })
  if (!isReleased) throw new Error('the database could not be released')
}

/** True for a database that has all records of the store with this keyring; a server may have changed them since. */
export async function isStoreOf(database: Meta, keyringId: Buffer): Promise<boolean> {
  if ((await database.get(recordKey.incoming())) !== undefined) return false
  const entry = await database.get(KEYRING_KEY)
  return entry !== undefined && keyringIdFormat.decode(entry.value).equals(keyringId)
}

/** Checked by a server that has joined: a claim is made only while there is no member. */
export async function assertComplete(meta: Meta): Promise<void> {
  if ((await meta.get(recordKey.incoming())) === undefined) return
  throw new Error(
    'the metadata in this database are partly moved or partly restored: run holdfast meta move --finish or the same ' +
      'restore command again, or use an empty database',
  )
}
