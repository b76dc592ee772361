/** A store with data of every kind, its backups, and the folders restored from them. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { BackupOptions, BackupSource } from '../../src/backup/backup-options.ts'
import { BackupLeases } from '../../src/backup/lease.ts'
import { localSource } from '../../src/backup/local-source.ts'
import type { Manifest } from '../../src/backup/manifest.ts'
import { takeBackup } from '../../src/backup/take-backup.ts'
import type { Vault } from '../../src/backup/vault.ts'
import { startsWith } from '../../src/lib/bytes.ts'
import { type Clock, systemClock } from '../../src/lib/clock.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { ENGINE_KEYS } from '../../src/meta/meta.ts'
import { blobFormat } from '../../src/model/content.ts'
import { garbageFormat } from '../../src/model/garbage.ts'
import { keyringIn, restoreFolder, withVault } from '../../src/server/backups.ts'
import { openFolder, type ServerParts } from '../../src/server/compose.ts'
import { keyRanges, recordKey } from '../../src/store/commit/record-keys.ts'
import { lockBucket, put, versionedBucket } from '../http/actions.ts'
import { DAY, hold, ok, retain } from '../http/lock-requests.ts'
import { begin, finish, MIB5, part } from '../http/parts.ts'
import { type Client, makeBucket, type Served, withFolderServer } from '../http/server.ts'
import { payload, withFolder } from '../store/fixture.ts'

export const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

/** Every kind of content, name, lock and garbage. */
export async function fill({ svc, clock, parts }: Served): Promise<void> {
  const plain = await makeBucket(svc, 'plain-bucket')
  for (const [i, size] of [0, 1, 4096, 4097, 70_000, 2 ** 20, 2 ** 20 + 1, 3_000_000].entries()) {
    await put(svc, plain, `/size-${size}`, payload(size, i))
  }
  for (const size of [100, 9_000, 1_500_000]) {
    await put(svc, plain, `/sealed-${size}`, payload(size, 7), [[':server-side-encryption', 'AES256']])
  }
  const versioned = await versionedBucket(svc, parts)
  for (let i = 0; i < 3; i++) await put(svc, versioned, '/k', payload(8_000 + i, i))
  await put(svc, versioned, '/gone', payload(20_000))
  await ok(svc.send({ method: 'DELETE', bucket: versioned, path: '/gone' }))
  await inParts(svc, plain, '/parts')
  await ok(
    svc.send({ method: 'PUT', bucket: plain, path: '/copy', headers: [[':copy-source', '/plain-bucket/parts']] }),
  )
  await part(svc, await begin(svc, plain, '/unfinished'), 1, payload(200_000, 5))
  const locked = await lockBucket(svc)
  await put(svc, locked, '/held', payload(30_000, 3))
  await ok(hold(svc, locked, '/held', 'ON'))
  await put(svc, locked, '/kept', payload(40_000, 4))
  await ok(retain(svc, locked, '/kept', 'COMPLIANCE', clock.now() + 30 * DAY))
  await put(svc, plain, '/overwritten', payload(50_000, 1))
  await put(svc, plain, '/overwritten', payload(50_000, 2))
}

async function inParts(client: Client, bucket: string, path: string): Promise<void> {
  const place = await begin(client, bucket, path)
  const parts = []
  for (let number = 1; number <= 2; number++) {
    parts.push(await part(client, place, number, payload(number < 2 ? MIB5 : 1000, number)))
  }
  await ok(finish(client, place, parts))
}

export const sourceOver = ({ store, snapshot }: ServerParts): BackupSource =>
  localSource(new BackupLeases(store.context, snapshot))

export interface Ground {
  readonly served: Served
  readonly source: BackupSource
  readonly data: string
  readonly vault: string
  /** Does not exist yet. */
  readonly target: string
}

export async function withGround(use: (ground: Ground) => Promise<void>): Promise<void> {
  await withFolder(outer =>
    withFolderServer((served, data) =>
      use({ served, source: sourceOver(served.parts), data, vault: join(outer, 'vault'), target: join(outer, 'new') }),
    ),
  )
}

export function take(
  { vault, source, data }: Pick<Ground, 'vault' | 'source' | 'data'>,
  more: Partial<BackupOptions> = {},
  clock: Clock = systemClock,
): Promise<Manifest> {
  const keyring = (id: Buffer): Promise<Buffer> => keyringIn(data, id)
  return withVault(vault, 'write', kept =>
    takeBackup({ vault: kept, source, clock, keyring, recheck: false, progress: () => {}, ...more }),
  )
}

export function restore({ vault, target }: Pick<Ground, 'vault' | 'target'>, run?: string) {
  return withVault(vault, 'read', async kept => {
    const manifest = await kept.manifest(run ?? (await kept.runs()).at(-1)!)
    return restoreInto(kept, manifest, target)
  })
}

export const restoreInto = (vault: Vault, manifest: Manifest, folder: string) =>
  restoreFolder({
    vault,
    manifest,
    target: { folder, durability: 'os' },
    keyring: undefined,
    progress: () => {},
  })

/** Every record about stored data, without those about the folder. */
export async function rows({ store }: ServerParts): Promise<Map<string, string>> {
  const all = await store.context.meta.scan({ start: Buffer.alloc(0), end: undefined }, 1e6)
  const out = new Map<string, string>()
  for (const { key, value } of all) {
    const kind = String.fromCharCode(key[0]!)
    // These change with every start.
    if (key.equals(recordKey.owner()) || key.equals(recordKey.usageMark()) || startsWith(key, ENGINE_KEYS)) continue
    if (startsWith(key, keyRanges.cluster().start)) continue
    if (kind === 'g' && garbageFormat.decode(value).kind === 'volume') continue
    const shown =
      kind === 'b' ? blobFormat.encode({ ...blobFormat.decode(value), volume: undefined, offset: 0 }) : value
    out.set(key.toString('hex'), shown.toString('hex'))
  }
  return out
}

/** Opens and inspects a restored folder. */
export async function opened<T>(folder: string, use: (parts: ServerParts) => Promise<T>): Promise<T> {
  const parts = await openFolder({ folder, durability: 'os' })
  try {
    return await use(parts)
  } finally {
    await parts.close()
  }
}

export async function assertSound(parts: ServerParts): Promise<void> {
  assert.deepEqual((await fsck(parts.store.context)).problems, [])
}
