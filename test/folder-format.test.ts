/** The format stamp of a data folder: an older program refuses a newer folder before it changes anything. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLmdbMeta } from '../src/meta/lmdb/lmdb.ts'
import { withVault } from '../src/server/backups.ts'
import { openFolder } from '../src/server/compose.ts'
import { FORMAT_FILE } from '../src/server/folder-format.ts'
import { rebuildFolder } from '../src/server/rebuild.ts'
import { FORMAT, formatStamp } from '../src/store/commit/format-stamp.ts'
import { recordKey } from '../src/store/commit/record-keys.ts'
import { VERSION } from '../src/version.ts'
import { opened, restoreInto, take, withGround } from './backup/fixture.ts'
import { holdfast } from './cli/program.ts'
import { bytesOf, makeBucket, put, withFolder } from './store/fixture.ts'

const NEWER = { format: FORMAT + 1, writtenBy: '9.8.7' }
const REFUSED = /was written by holdfast 9\.8\.7 \(format \d+\).*this is holdfast \S+.*install 9\.8\.7 or newer/

const stampFile = ({ format, writtenBy }: typeof NEWER): string =>
  `holdfast format ${format}\nwritten by ${writtenBy}\n`

const withObject = (folder: string): Promise<void> =>
  opened(folder, async ({ store }) => {
    await makeBucket(store, 'plain')
    await put(store, 'plain', 'key', 'text')
  })

/** The record, as some version left it; undefined for versions that had none. */
async function stampRecord(folder: string, stamp: typeof NEWER | undefined): Promise<void> {
  const meta = await openLmdbMeta({ path: join(folder, 'meta') })
  const value = stamp === undefined ? undefined : formatStamp.encode(stamp)
  await meta.commit({ checks: [], writes: [{ key: recordKey.format(), value }] })
  await meta.close()
}

test('a new folder is stamped with the format and the version, in a file and in the metadata', () =>
  withFolder(async folder => {
    await opened(folder, async ({ store }) => {
      const entry = await store.context.meta.get(recordKey.format())
      assert.deepEqual(formatStamp.decode(entry!.value), { format: FORMAT, writtenBy: VERSION })
    })
    assert.equal(readFileSync(join(folder, FORMAT_FILE), 'utf8'), stampFile({ format: FORMAT, writtenBy: VERSION }))
  }))

test('a folder without a stamp is upgraded in place', () =>
  withFolder(async folder => {
    await withObject(folder)
    rmSync(join(folder, FORMAT_FILE))
    await stampRecord(folder, undefined)
    await opened(folder, async ({ store }) => {
      assert.equal((await bytesOf(store, { bucket: 'plain', key: 'key' })).toString(), 'text')
      assert.ok(await store.context.meta.get(recordKey.format()))
    })
    assert.ok(existsSync(join(folder, FORMAT_FILE)))
  }))

test('an unreadable stamp file is rewritten', () =>
  withFolder(async folder => {
    await withObject(folder)
    writeFileSync(join(folder, FORMAT_FILE), 'holdfast for')
    await opened(folder, async () => {})
    assert.equal(readFileSync(join(folder, FORMAT_FILE), 'utf8'), stampFile({ format: FORMAT, writtenBy: VERSION }))
  }))

test('a folder of a newer format is refused by its file alone, and nothing in it changes', () =>
  withFolder(async folder => {
    await withObject(folder)
    writeFileSync(join(folder, FORMAT_FILE), stampFile(NEWER))
    const before = readdirSync(folder, { recursive: true }).sort()
    await assert.rejects(openFolder({ folder }), REFUSED)
    await assert.rejects(rebuildFolder({ folder, progress: () => {} }), REFUSED)
    assert.deepEqual(readdirSync(folder, { recursive: true }).sort(), before)
  }))

test('a folder of a newer format is refused by its metadata alone, before a journal or an owner is written', () =>
  withFolder(async folder => {
    await withObject(folder)
    await stampRecord(folder, NEWER)
    const before = readdirSync(folder, { recursive: true }).sort()
    await assert.rejects(openFolder({ folder }), REFUSED)
    assert.deepEqual(readdirSync(folder, { recursive: true }).sort(), before)
  }))

// A server that does start would not exit by itself.
test('serve and every offline command refuse a newer folder with one line and exit code 2', { timeout: 120_000 }, () =>
  withFolder(async folder => {
    await withObject(folder)
    writeFileSync(join(folder, FORMAT_FILE), stampFile(NEWER))
    const backups = join(folder, '..', `${folder.split('/').at(-1)}-backups`)
    const offline = [['fsck'], ['scrub'], ['rebuild'], ['bucket', 'list'], ['backup', backups]]
    for (const words of [['serve', '--listen', '127.0.0.1:0', '--console', 'off'], ...offline]) {
      const { code, errors } = await holdfast([...words, '--data', folder])
      // The log of a server starts earlier.
      const lines = errors.split('\n').filter(line => line.startsWith('holdfast: '))
      assert.deepEqual([words[0], code, lines.length], [words[0], 2, 1], errors)
      assert.match(errors, REFUSED)
    }
    rmSync(backups, { recursive: true, force: true })
    const doctor = await holdfast(['doctor', '--data', folder])
    assert.equal(doctor.code, 1)
    assert.match(doctor.out, /bad +format +.*9\.8\.7/)
  }),
)

test('a program version without stamps does not start on a stamped folder', () =>
  withFolder(async folder => {
    await withObject(folder)
    const meta = await openLmdbMeta({ path: join(folder, 'meta') })
    // 0.1 reads this record first, and knows only X1.
    assert.equal((await meta.get(recordKey.owner()))!.value.toString('latin1', 0, 2), 'X2')
    await meta.close()
  }))

test('a backup of a newer format is not restored, and nothing is made of it', () =>
  withGround(async ground => {
    const manifest = await take(ground)
    assert.deepEqual(manifest.store, { format: FORMAT, writtenBy: VERSION })
    const restoring = withVault(ground.vault, 'read', kept =>
      restoreInto(kept, { ...manifest, store: NEWER }, ground.target),
    )
    await assert.rejects(restoring, REFUSED)
    assert.ok(!existsSync(ground.target))
  }))
