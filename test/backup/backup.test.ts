import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { BackupSource } from '../../src/backup/backup-options.ts'
import { indexFormat } from '../../src/backup/index-entry.ts'
import { pruneBackups } from '../../src/backup/prune.ts'
import { takeBackup } from '../../src/backup/take-backup.ts'
import { verifyBackups } from '../../src/backup/verify.ts'
import { soloPath } from '../../src/blobs/solo.ts'
import { recordsOf } from '../../src/maintenance/records.ts'
import { blobFormat } from '../../src/model/content.ts'
import { withVault } from '../../src/server/backups.ts'
import { openFolder } from '../../src/server/compose.ts'
import { lockBucket, put } from '../http/actions.ts'
import { hold, ok, remove } from '../http/lock-requests.ts'
import { makeBucket } from '../http/server.ts'
import { fewOrAll } from '../long.ts'
import { payload, settle, turn } from '../store/fixture.ts'
import { withFilled } from './filled.ts'
import { assertSound, opened, restore, rows, sourceOver, take, withGround } from './fixture.ts'

const verified = (vault: string) => withVault(vault, 'read', kept => verifyBackups(kept, () => {}))

test('P24: a restored store has every record, byte, hold and ledger entry, and is sound', () =>
  withFilled(async ground => {
    const { parts } = ground.served
    const manifest = await take(ground)
    assert.deepEqual((await verified(ground.vault)).problems, [])
    assert.equal(manifest.blobs.copied, manifest.blobs.count)
    assert(manifest.blobs.count > 15, `${manifest.blobs.count} blobs`)
    const restored = await restore(ground)
    assert.equal(restored.blobs, manifest.blobs.count)
    await opened(ground.target, async copy => {
      await assertSound(copy)
      assert.deepEqual(await rows(copy), await rows(parts))
      for (const bucket of await parts.store.ledger.buckets()) {
        assert.equal((await copy.store.ledger.verify(bucket)).problem, undefined)
      }
      for await (const { key, value } of recordsOf(parts.store.context, 'b')) {
        const id = key.subarray(1)
        const read = async ({ store }: typeof parts, record: Buffer): Promise<string> => {
          const { storedLength: length, ...rest } = blobFormat.decode(record)
          const chunks: Buffer[] = []
          for await (const chunk of store.context.blobs.read(id, { ...rest, length }, 0, length)) chunks.push(chunk)
          return Buffer.concat(chunks).toString('latin1')
        }
        const there = await copy.store.context.meta.get(key)
        assert.equal(await read(copy, there!.value), await read(parts, value))
      }
    })
  }))

test('a second run copies only what is new, and both can be restored', () =>
  withFilled(async ground => {
    const { svc, parts } = ground.served
    const first = await take(ground)
    const before = await rows(parts)
    await put(svc, 'plain-bucket', '/new', payload(80_000, 9))
    await remove(svc, 'plain-bucket', '/size-3000000')
    const second = await take(ground)
    assert.deepEqual([second.blobs.copied, second.blobs.copiedBytes], [1, 80_000])
    const third = await take(ground)
    assert.deepEqual([third.blobs.copied, third.blobs.copiedBytes], [0, 0])
    const { problems, blobs } = await verified(ground.vault)
    assert.deepEqual([problems, blobs], [[], first.blobs.count + 1])
    await restore(ground, first.run)
    await opened(ground.target, async copy => assert.deepEqual(await rows(copy), before))
  }))

/** A source that calls `ask` before it returns each chunk. */
function asking(source: BackupSource, ask: () => void): BackupSource {
  async function* asked(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      ask()
      yield piece
    }
  }
  return {
    ...source,
    records: backup => asked(source.records(backup)),
    blobs: (backup, ids) => asked(source.blobs(backup, ids)),
  }
}

/** A source that fails after this many chunks. */
function breaking(source: BackupSource, piecesMax: number): BackupSource {
  let left = piecesMax
  return asking(source, () => {
    if (left-- <= 0) throw new Error('the cable was cut')
  })
}

test('an interrupted run is incomplete, and the next one continues with its blobs', () =>
  withFilled(async ground => {
    const copied: number[] = []
    let all = 0
    await take({ ...ground, vault: `${ground.vault}-whole` }, { source: asking(ground.source, () => all++) })
    assert(all > 30, `${all} pieces`)
    const shares = fewOrAll([0.3, 0.9], [0.1, 0.3, 0.6, 0.9]).map(share => Math.floor(all * share))
    for (const pieces of [...fewOrAll([0], [0, 1, 3]), ...shares]) {
      const vault = `${ground.vault}-${pieces}`
      await assert.rejects(take({ ...ground, vault }, { source: breaking(ground.source, pieces) }), /cable was cut/)
      await withVault(vault, 'read', async kept => assert.deepEqual(await kept.runs(), []))
      const { blobs, run } = await take({ ...ground, vault })
      copied.push(blobs.copied)
      assert.deepEqual((await verified(vault)).problems, [])
      assert.deepEqual(
        (await readdir(join(vault, 'runs'))).filter(name => !name.startsWith(run)),
        [],
      )
    }
    assert.deepEqual(
      copied,
      copied.toSorted((a, b) => b - a),
    )
    assert(copied.at(-1)! < copied[0]!, `${copied}`)
  }))

test('a run keeps its lease while it verifies existing blobs, however long that takes', () =>
  withFilled(async ({ served: { clock, svc }, source, ...ground }) => {
    await take({ ...ground, source })
    await put(svc, await makeBucket(svc, 'later-bucket'), '/later', payload(20_000))
    for (const file of await readdir(join(ground.vault, 'runs'))) await rm(join(ground.vault, 'runs', file))
    const manifest = await withVault(ground.vault, 'write', vault => {
      const entries = vault.blobs.entries.bind(vault.blobs)
      vault.blobs.entries = async function* (volume) {
        for await (const entry of entries(volume)) {
          clock.move(2 * 60_000)
          yield entry
        }
      }
      return takeBackup({ vault, source, clock, recheck: false, progress: () => {} })
    })
    assert.equal(manifest.blobs.copied, 1)
  }))

const RUN_FILES = ['records', 'index', 'manifest', 'keyring'] as const

async function flip(path: string, at = 0.5): Promise<() => Promise<void>> {
  const bytes = await readFile(path)
  const spoilt = Buffer.from(bytes)
  const place = Math.floor(bytes.length * at)
  spoilt[place] = spoilt[place]! ^ 1
  await writeFile(path, spoilt)
  return () => writeFile(path, bytes)
}

test('verify finds one flipped bit anywhere, and restore refuses such a backup', () =>
  withFilled(async ground => {
    const { run } = await take(ground)
    const blobs = join(ground.vault, 'blobs')
    const [volume] = await readdir(join(blobs, 'volumes'))
    const solos = (await readdir(join(blobs, 'solo'), { recursive: true })).filter(name => name.includes('/'))
    const files = [
      ...RUN_FILES.map(name => join(ground.vault, 'runs', `${run}.${name}`)),
      join(blobs, 'volumes', volume!),
      join(blobs, 'solo', solos[0]!),
    ]
    for (const [i, path] of files.entries()) {
      for (const at of fewOrAll([[0.2, 0.5, 0.9][i % 3]!], [0.2, 0.5, 0.9])) {
        const mend = await flip(path, at)
        const { problems } = await verified(ground.vault)
        assert(problems.length > 0, `${path} at ${at}`)
        await assert.rejects(restore(ground), /match|written|begin|checksum|header|kind|longer|cut/, path)
        // Refused before anything was created, or left in a state that no server serves.
        const begun = await readdir(ground.target).catch(() => [])
        if (begun.length > 0) await assert.rejects(openFolder({ folder: ground.target }), /partly restored/)
        await rm(ground.target, { recursive: true, force: true })
        await mend()
      }
    }
    assert.deepEqual((await verified(ground.vault)).problems, [])
    await restore(ground)
    await opened(ground.target, assertSound)
  }))

test('--recheck copies again what is damaged in the backup', () =>
  withFilled(async ground => {
    await take(ground)
    const volumes = join(ground.vault, 'blobs', 'volumes')
    await flip(join(volumes, (await readdir(volumes))[0]!))
    const solos = join(ground.vault, 'blobs', 'solo')
    const names = (await readdir(solos, { recursive: true })).filter(name => name.includes('/'))
    await flip(join(solos, names[0]!))
    assert.equal((await take(ground)).blobs.copied, 0)
    const mended = await take(ground, { recheck: true })
    assert.equal(mended.blobs.copied, 2)
    await restore(ground)
    await opened(ground.target, assertSound)
  }))

test('blobs that the snapshot of a backup names are not freed until it ends', () =>
  withFilled(async ({ served, source }) => {
    const { svc, parts } = served
    const { backup } = await source.start()
    const ids: Buffer[] = []
    for await (const { key } of recordsOf(parts.store.context, 'b')) ids.push(key.subarray(1))
    for (const size of [70_000, 3_000_000]) await remove(svc, 'plain-bucket', `/size-${size}`)
    await assert.rejects(settle(parts.store), /garbage is left/)
    let bytes = 0
    for await (const piece of source.blobs(backup, ids)) bytes += piece.length
    assert(bytes > 3_000_000)
    await source.end(backup)
    await settle(parts.store)
    const left: Buffer[] = []
    for await (const { key } of recordsOf(parts.store.context, 'b')) left.push(key)
    assert.equal(left.length < ids.length, true)
  }))

test('a backup is a consistent snapshot, whatever changes while its records are read', () =>
  withFilled(async ground => {
    const { svc, parts } = ground.served
    for (let i = 0; i < 400; i++) await put(svc, 'plain-bucket', `/n-${i}`, payload(4_000, i))
    const before = await rows(parts)
    let changes = 0
    const busy: BackupSource = {
      ...ground.source,
      async *records(backup) {
        for await (const piece of ground.source.records(backup)) {
          const n = changes++
          await put(svc, 'plain-bucket', `/n-${399 - n}`, payload(30_000, n))
          await ok(remove(svc, 'plain-bucket', `/n-${200 + n}`))
          await ok(hold(svc, 'lock-bucket', '/held', n % 2 === 0 ? 'OFF' : 'ON'))
          await put(svc, 'versioned-bucket', `/z-${n}`, payload(9_000, n))
          yield piece
        }
      },
    }
    await take({ ...ground, source: busy })
    assert(changes > 5, `${changes} changes`)
    await restore(ground)
    await opened(ground.target, async copy => {
      await assertSound(copy)
      assert.deepEqual(await rows(copy), before)
    })
  }))

test('a backup ends when its client is silent, and only one runs at a time', () =>
  withFilled(async ({ served, source }) => {
    const { parts, clock } = served
    const { backup } = await source.start()
    await assert.rejects(source.start(), { code: 'OperationAborted' })
    clock.move(4 * 60_000)
    await source.keep(backup)
    clock.move(4 * 60_000)
    await source.keep(backup)
    assert(parts.store.context.reclamationLock.isHeld)
    const [entry] = await parts.store.context.meta.scan({ start: Buffer.from('b'), end: Buffer.from('c') }, 1)
    const reading = source.blobs(backup, [entry!.key.subarray(1)])[Symbol.asyncIterator]()
    await reading.next()
    clock.move(6 * 60_000)
    assert(!parts.store.context.reclamationLock.isHeld)
    await assert.rejects(reading.next(), { code: 'NoSuchEntity' })
    await assert.rejects(source.keep(backup), { code: 'NoSuchEntity' })
    await source.end((await source.start()).backup)
  }))

test('a blob that the store itself cannot read is named, and everything else is saved', () =>
  withFilled(async ground => {
    const { parts } = ground.served
    let hurt: Buffer | undefined
    for await (const { key, value } of recordsOf(parts.store.context, 'b')) {
      if (blobFormat.decode(value).volume === undefined) hurt = key.subarray(1)
    }
    await flip(soloPath(join(ground.data, 'blobs', 'solo'), hurt!))
    const { damaged, index, blobs } = await take(ground)
    assert.deepEqual(
      damaged.map(({ id }) => id),
      [hurt!.toString('hex')],
    )
    assert.equal(index.count, blobs.count - 1)
    const { problems } = await verified(ground.vault)
    assert.equal(problems.length, 1)
    await restore(ground)
    await opened(ground.target, async copy => assert.deepEqual(await rows(copy), await rows(parts)))
  }))

test('older runs are pruned on request, with the blobs that only they contain', () =>
  withFilled(async ground => {
    const { svc } = ground.served
    await take(ground)
    await remove(svc, 'plain-bucket', '/size-3000000')
    await settle(ground.served.parts.store)
    await put(svc, 'plain-bucket', '/new', payload(2_000_000, 9))
    const { run } = await take(ground)
    const pruned = await withVault(ground.vault, 'write', kept => pruneBackups(kept, 1))
    assert.deepEqual([pruned.runs.length, pruned.files], [1, 1])
    const { problems, runs } = await verified(ground.vault)
    assert.deepEqual([problems, runs], [[], [run]])
    await restore(ground)
    await opened(ground.target, assertSound)
  }))

test('P24: a restore needs an empty folder, and a backup folder belongs to one store', () =>
  withGround(async ground => {
    await makeBucket(ground.served.svc)
    await take(ground)
    await assert.rejects(restore({ ...ground, target: ground.data }), /is not empty/)
    await assert.rejects(take({ ...ground, vault: ground.data }), /is not empty and has no backups/)
    await withGround(async other => {
      await lockBucket(other.served.svc)
      await assert.rejects(take({ ...other, vault: ground.vault }), /backups of another store/)
    })
    assert.equal((await verified(ground.vault)).runs.length, 1)
  }))

/** The location of the blob that is restored last. */
const lastBlob = (vault: string) =>
  withVault(vault, 'read', async kept => {
    const { run, index } = await kept.manifest((await kept.runs()).at(-1)!)
    const all = []
    for await (const page of kept.entries(run, 'index', index.sha256)) all.push(...page)
    const [id, value] = all.at(-1)!
    const { volume, offset, length } = indexFormat.decode(value)
    const blobs = join(vault, 'blobs')
    return volume === undefined
      ? { path: soloPath(join(blobs, 'solo'), id), at: 100 }
      : { path: join(blobs, 'volumes', volume), at: offset + length }
  })

test('an interrupted restore is not served and continues when run again', () =>
  withFilled(async ground => {
    const { svc, parts } = ground.served
    for (let i = 0; i < 100; i++) await put(svc, 'plain-bucket', `/small-${i}`, payload(5_000, i))
    const { blobs, run } = await take(ground)
    const before = await rows(parts)
    const { path, at } = await lastBlob(ground.vault)
    const mend = await flip(path, at / (await readFile(path)).length)
    await assert.rejects(restore(ground), /match/)
    await mend()
    await assert.rejects(openFolder({ folder: ground.target }), /partly restored: run the same restore again/)
    await ok(hold(svc, 'lock-bucket', '/held', 'OFF'))
    const later = await take(ground)
    await assert.rejects(restore(ground, later.run), /partly restored from another backup/)
    const restored = await restore(ground, run)
    assert(restored.blobs > 0 && restored.blobs <= blobs.count - 64, `${restored.blobs} of ${blobs.count}`)
    await opened(ground.target, async copy => {
      await assertSound(copy)
      assert.deepEqual(await rows(copy), before)
    })
  }))

test('one command at a time works in a folder of backups', () =>
  withGround(async ground => {
    await makeBucket(ground.served.svc)
    await take(ground)
    await withVault(ground.vault, 'read', () => assert.rejects(take(ground), /another command is using/))
    const again = sourceOver(ground.served.parts)
    assert.equal((await take({ ...ground, source: again })).blobs.count, 0)
  }))

test('of commands that enter a folder of backups at the same moment at most one works there', () =>
  withGround(async ground => {
    await makeBucket(ground.served.svc)
    await take(ground)
    // Left by processes that were killed, the first by an older version.
    for (const name of ['in-use.sock', 'in-use-0123abcd.sock']) await writeFile(join(ground.vault, name), '')
    let inside = 0
    let refused = 0
    const enter = (): Promise<void> =>
      withVault(ground.vault, 'read', async () => {
        assert.equal(++inside, 1)
        for (let i = 0; i < 5; i++) await turn()
        inside--
      }).catch((error: Error) => {
        assert.match(error.message, /another command is using/)
        refused++
      })
    for (let round = 0; round < 20; round++) await Promise.all([enter(), enter(), enter()])
    assert(refused >= 20, `${refused} refused`)
    await withVault(ground.vault, 'read', async () => {})
    assert.deepEqual((await readdir(ground.vault)).toSorted(), ['blobs', 'runs'])
  }))
