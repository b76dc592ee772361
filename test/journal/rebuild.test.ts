/** Lost or damaged metadata, rebuilt from their second copy. */
import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { realDisk } from '../../src/lib/disk.ts'
import { type Random, systemRandom } from '../../src/lib/random.ts'
import { Compactor } from '../../src/maintenance/compact.ts'
import { fsck } from '../../src/maintenance/fsck.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import type { CopyKeeper } from '../../src/meta/journal/keeper.ts'
import { openLmdbMeta } from '../../src/meta/lmdb/lmdb.ts'
import { MetadataDamaged } from '../../src/model/faults.ts'
import { openFolder, type ServerParts } from '../../src/server/compose.ts'
import { rebuildFolder } from '../../src/server/rebuild.ts'
import { compareWithCopy, copyTask } from '../../src/server/second-copy.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { opened, rows } from '../backup/fixture.ts'
import { holdfast } from '../cli/program.ts'
import { build, lookAtAll } from '../crash/rot.ts'
import { bytesOf, makeBucket, OWNER, payload, withFolder } from '../store/fixture.ts'
import { round } from './round.ts'

const progress = (): void => {}

/** As with a damaged page: the record is not found any more, without an error. */
async function vanish(folder: string, ...keys: readonly Buffer[]): Promise<void> {
  const meta = await openLmdbMeta({ path: join(folder, 'meta') })
  for (const key of keys) {
    assert.ok(await meta.get(key))
    await meta.commit({ checks: [], writes: [{ key, value: undefined }] })
  }
  await meta.close()
}

const put = ({ store }: ServerParts, key: string, body = 'small'): Promise<unknown> =>
  store.objects.put({ bucket: 'plain', key, owner: 'owner', body: [Buffer.from(body)] })

/** Lost is not deleted: neither a read nor a listing reports it as such. */
async function assertTold({ store }: ServerParts): Promise<void> {
  const lost = { bucket: 'plain', key: 'inline-3' }
  await assert.rejects(async () => store.objects.open(lost), MetadataDamaged)
  await assert.rejects(store.objects.remove({ ...lost, owner: 'owner' }), MetadataDamaged)
  await assert.rejects(store.listing.objects({ bucket: 'plain', limit: 1000 }), MetadataDamaged)
  await assert.rejects(store.objects.open({ ...lost, key: 'never-there' }) as Promise<unknown>, { code: 'NoSuchKey' })
}

test('without data.mdb the store is not served, and is rebuilt completely from journals', () =>
  withFolder(async folder => {
    const expectation = await build(folder)
    const before = await opened(folder, rows)
    rmSync(join(folder, 'meta'), { recursive: true })
    await assert.rejects(openFolder({ folder }), /metadata of .* are missing .*: run holdfast rebuild/)
    rmSync(join(folder, 'meta'), { recursive: true })
    const rebuilt = await rebuildFolder({ folder, progress })
    assert.deepEqual([rebuilt.problems, rebuilt.shortcomings, rebuilt.kept], [[], [], undefined])
    assert.ok(rebuilt.held.length > 0)
    await opened(folder, async parts => {
      assert.deepEqual(await rows(parts), before)
      const look = await lookAtAll(parts.store, expectation)
      assert.deepEqual([look.missing, look.unreadable, look.wrong], [[], [], []])
      assert.ok(look.right > 50)
      assert.deepEqual(await compareWithCopy(parts.copy!), [])
    })
  }))

test('from a snapshot and the journals since, and again after the next start', () =>
  withFolder(async folder => {
    await build(folder)
    const change = (name: string): Promise<Map<string, string>> =>
      opened(folder, async parts => {
        await put(parts, `before-${name}`)
        assert.deepEqual(await round(parts), [])
        await put(parts, `after-${name}`)
        await parts.store.objects.remove({ bucket: 'plain', key: `before-${name}`, owner: 'owner' })
        return rows(parts)
      })
    for (const name of ['one', 'two', 'three']) {
      const before = await change(name)
      rmSync(join(folder, 'meta', 'data.mdb'))
      const { problems, shortcomings } = await rebuildFolder({ folder, progress })
      assert.deepEqual([problems, shortcomings], [[], []])
      await opened(folder, async parts => assert.deepEqual(await rows(parts), before))
    }
    const files = readdirSync(join(folder, 'meta-copy'))
    assert.equal(files.filter(name => name.endsWith('.snapshot')).length, 2)
  }))

test('fsck names a small object that vanished, reclaiming stops, and rebuild restores it', () =>
  withFolder(async folder => {
    const expectation = await build(folder)
    await opened(folder, async parts => assert.deepEqual(await round(parts), []))
    await vanish(folder, recordKey.current('plain', 'inline-3'), recordKey.current('plain', 'inline-7'))
    const found = await holdfast(['fsck', '--data', folder])
    assert.equal(found.code, 1)
    assert.match(found.out, /against the second copy: missing: plain\/inline-3, record 6f/)
    assert.match(found.out, /missing: plain\/inline-7,[\s\S]*; 3 problems/)
    await opened(folder, async parts => {
      const lines: Readonly<Record<string, unknown>>[] = []
      const tell = { log: (line: (typeof lines)[0]) => lines.push(line), notice() {}, abort() {} }
      const [chore] = copyTask(parts.copy, parts.store.context, tell)
      ;(chore!.worker as CopyKeeper).begin()
      while ((await chore!.worker.step()) === 'busy');
      assert.match(JSON.stringify(lines), /"level":"error","copy":"2 metadata records .*inline-3.*inline-7/)
      assert.ok(parts.store.context.reclamationLock.isHeld)
      await assertTold(parts)
      assert.deepEqual(chore!.samples!()[0], ['holdfast_meta_copy_findings', '', 2])
    })
    await opened(folder, async parts => {
      await assertTold(parts)
      copyTask(parts.copy, parts.store.context, { log() {}, notice() {}, abort() {} })
      assert.ok(parts.store.context.reclamationLock.isHeld, 'a restart has forgotten it')
    })
    const rebuilt = await holdfast(['rebuild', '--data', folder])
    assert.equal(rebuilt.code, 0, rebuilt.out + rebuilt.errors)
    assert.match(rebuilt.out, /0 problems\nwhat was there before is .*data\.mdb\.damaged-/)
    await opened(folder, async parts => {
      const look = await lookAtAll(parts.store, expectation)
      assert.deepEqual([look.missing, look.unreadable, look.wrong], [[], [], []])
      assert.ok(!parts.copy!.hadFindings)
    })
    assert.equal((await holdfast(['fsck', '--data', folder])).code, 0)
  }))

test('P1: a held object whose blob record was lost survives the removal of its volume, once rebuilt', () =>
  withFolder(async folder => {
    const bytes = payload(20_000)
    const at = { bucket: 'locked', key: 'held' }
    const blob = await opened(folder, async ({ store }) => {
      await makeBucket(store, 'locked', 'locked')
      const { id: versionId } = await store.objects.put({ ...at, owner: OWNER, body: [bytes] })
      await store.objects.setHold({ ...at, versionId }, true)
      const handle = await store.objects.open(at)
      const { content } = handle.version
      handle.close()
      assert(content.kind === 'slices')
      return recordKey.blob(content.slices[0]!.id)
    })
    await opened(folder, async parts => assert.deepEqual(await round(parts), []))
    await vanish(folder, blob)
    const volumes = (): Promise<string[]> => realDisk.list(join(folder, 'blobs', 'volumes'))
    await opened(folder, async parts => {
      const before = await volumes()
      await runUntilIdle(new Compactor(parts.store.context))
      const pin = parts.store.context.readers.enter()
      await new Reclaimer(parts.store.context).step()
      assert.deepEqual(await volumes(), before)
      parts.store.context.readers.leave(pin)
    })
    assert.deepEqual((await rebuildFolder({ folder, progress })).problems, [])
    await opened(folder, async parts => {
      const { context } = parts.store
      await runUntilIdle(new Reclaimer(context))
      assert((await bytesOf(parts.store, at)).equals(bytes))
      assert.deepEqual((await fsck(context)).problems, [])
      assert.deepEqual(await compareWithCopy(parts.copy!), [])
    })
  }))

test('rebuild is refused on a served store, without a copy and for a database, and can be resumed', () =>
  withFolder(async folder => {
    await build(folder)
    await opened(folder, async () => {
      const refused = await holdfast(['rebuild', '--data', folder])
      assert.equal(refused.code, 1)
      assert.match(refused.errors, /another server is using/)
    })
    writeFileSync(join(folder, 'rebuilding'), '')
    await assert.rejects(openFolder({ folder }), /partly rebuilt: run holdfast rebuild again/)
    assert.equal((await holdfast(['rebuild', '--data', folder])).code, 0)
    await opened(folder, async () => {})
    const database = await holdfast(['rebuild', '--data', folder, '--meta', 'postgres://host/name'])
    assert.equal(database.code, 2)
    rmSync(join(folder, 'meta-copy'), { recursive: true })
    const nothing = await holdfast(['rebuild', '--data', folder])
    assert.match(nothing.errors, /there is no second copy/)
    await opened(folder, async () => {})
    const late = await holdfast(['rebuild', '--data', folder])
    assert.match(late.errors, /does not reach back to the beginning/)
    assert.deepEqual([nothing.code, late.code], [1, 1])
    // A failed rebuild has removed nothing.
    await opened(folder, async () => {})
  }))

test('a server that starts during a rebuild is refused', () =>
  withFolder(async folder => {
    await build(folder)
    const mark = join(folder, 'rebuilding')
    const random: Random = {
      ...systemRandom,
      bytes(count) {
        // For the name of its socket: it has already looked for the mark, and is not visible yet.
        if (count === 8) writeFileSync(mark, '')
        return systemRandom.bytes(count)
      },
    }
    await assert.rejects(openFolder({ folder, random }), /partly rebuilt/)
    rmSync(mark)
    await opened(folder, async () => {})
  }))

test('rebuild reports losses from a damaged snapshot or a truncated journal', () =>
  withFolder(async folder => {
    await build(folder)
    for (let n = 0; n < 2; n++) {
      await opened(folder, async parts => {
        await put(parts, `round-${n}`)
        await round(parts)
      })
    }
    const before = await opened(folder, rows)
    const copy = join(folder, 'meta-copy')
    const newest = readdirSync(copy).filter(name => name.endsWith('.snapshot'))
    writeFileSync(join(copy, newest.sort().at(-1)!), 'no snapshot')
    const last = readdirSync(copy).filter(name => name.endsWith('.journal'))
    const path = join(copy, last.sort().at(-1)!)
    const file = await realDisk.open(path, 'read')
    const bytes = Buffer.alloc(await file.size())
    await file.read([bytes], 0)
    await file.close()
    writeFileSync(path, bytes.subarray(0, -5))
    const checked = await holdfast(['fsck', '--data', folder])
    assert.equal(checked.code, 1)
    assert.match(checked.out, /against the second copy: .*has no valid header\n\d+ versions, .*; 1 problems/)
    const { shortcomings, problems } = await rebuildFolder({ folder, progress })
    assert.deepEqual(problems, [])
    assert.match(shortcomings.join('\n'), /has no valid header; the snapshot before it[\s\S]*was cut off/)
    await opened(folder, async parts => assert.deepEqual(await rows(parts), before))
  }))
