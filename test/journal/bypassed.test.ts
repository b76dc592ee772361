/** A program version without a second copy has worked on the folder; and cases that must not be taken for that. */
import assert from 'node:assert/strict'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { realDisk } from '../../src/lib/disk.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { CopyKeeper, type KeeperEvent } from '../../src/meta/journal/keeper.ts'
import { openLmdbMeta } from '../../src/meta/lmdb/lmdb.ts'
import type { Meta } from '../../src/meta/meta.ts'
import { rebuildFolder } from '../../src/server/rebuild.ts'
import { compareWithCopy, copyTask } from '../../src/server/second-copy.ts'
import { takeOwnership } from '../../src/store/commit/folder-ownership.ts'
import { opened } from '../backup/fixture.ts'
import { withFolder } from '../store/fixture.ts'

type Changes = Readonly<Record<string, string | undefined>>

const bytes = (text: string): Buffer => Buffer.from(text)
const file = (folder: string): string => join(folder, 'meta', 'data.mdb')

/** The store ignores keys with this prefix. */
async function change(meta: Meta, changes: Changes): Promise<void> {
  for (const [key, value] of Object.entries(changes)) {
    const write = { key: bytes(`~${key}`), value: value === undefined ? undefined : bytes(value) }
    await meta.commit({ checks: [], writes: [write] })
  }
}

const run = (folder: string, changes: Changes): Promise<void> =>
  opened(folder, ({ store }) => change(store.context.meta, changes))

/** As the previous version did: it owns the folder, and no journal records its changes. */
async function runWithoutCopy(folder: string, changes: Changes): Promise<void> {
  const meta = await openLmdbMeta({ path: join(folder, 'meta') })
  const ownership = await takeOwnership(folder, meta, realDisk, systemRandom)
  await change(meta, changes)
  await meta.close()
  await ownership.end()
}

/** Loses a record, as damage does. */
async function vanish(folder: string, key: string): Promise<void> {
  const meta = await openLmdbMeta({ path: join(folder, 'meta') })
  await change(meta, { [key]: undefined })
  await meta.close()
}

/** The report of one round about the records that these tests write. */
async function round(folder: string): Promise<string[]> {
  const lines: string[] = []
  const tell = (event: KeeperEvent): void => {
    if (event.what === 'left out') lines.push(`left out: ${event.trusted.gone} gone, ${event.trusted.changed} changed`)
    else if (event.what !== 'findings') lines.push(event.what)
    else
      lines.push(...event.findings.listed.map(({ kind, key }) => `${kind} ${key}`).filter(line => line.includes(' ~')))
  }
  await opened(folder, async ({ copy }) => {
    const keeper = new CopyKeeper({ ...copy!, disk: realDisk, random: systemRandom, onEvent: tell })
    keeper.begin()
    while ((await keeper.step()) === 'busy');
  })
  return lines
}

const leftOutFiles = (folder: string): string[] =>
  readdirSync(join(folder, 'meta-copy')).filter(name => name.endsWith('.left-out'))

/** A copy of the folder as a killed process leaves it. */
const asKilled = (folder: string, to: string): void =>
  cpSync(folder, to, { recursive: true, filter: path => !path.endsWith('.sock') })

test('after a program version without a second copy nothing is reported as lost, and the copy restarts', () =>
  withFolder(async folder => {
    await run(folder, { kept: '1', deleted: '1', changed: '1' })
    assert.deepEqual(await round(folder), [])
    await run(folder, { young: '1' })
    await runWithoutCopy(folder, { deleted: undefined, young: undefined, changed: '2', made: '1' })
    // Also when the start that detects it does not complete a round.
    await run(folder, { later: '1' })
    await opened(folder, async ({ copy }) => assert.deepEqual(await compareWithCopy(copy!), []))
    assert.equal(leftOutFiles(folder).length, 1)
    const [line, ...more] = await round(folder)
    assert.match(line!, /^left out: 2 gone, \d+ changed$/)
    assert.deepEqual(more, [])
    assert.deepEqual(await round(folder), [])
    assert.deepEqual(leftOutFiles(folder), [])
    // The copy includes that version's changes, and is as strict as before.
    rmSync(file(folder))
    assert.deepEqual((await rebuildFolder({ folder, progress() {} })).shortcomings, [])
    await opened(folder, async ({ store: { context } }) => {
      for (const [key, value] of Object.entries({ kept: '1', changed: '2', made: '1', later: '1' })) {
        assert.equal((await context.meta.get(bytes(`~${key}`)))?.value.toString(), value, key)
      }
      for (const key of ['deleted', 'young']) assert.equal(await context.meta.get(bytes(`~${key}`)), undefined)
    })
    await vanish(folder, 'made')
    assert.deepEqual(await round(folder), ['missing ~made'])
  }))

test('the same after a kill, and twice in a row', () =>
  withFolder(folder =>
    withFolder(async killed => {
      await run(folder, { kept: '1', deleted: '1' })
      assert.deepEqual(await round(folder), [])
      await opened(folder, async ({ store, copy }) => {
        await change(store.context.meta, { young: '1' })
        await copy!.journal.settle()
        asKilled(folder, killed)
      })
      await runWithoutCopy(killed, { deleted: undefined })
      await run(killed, {})
      await runWithoutCopy(killed, { young: undefined })
      await runWithoutCopy(killed, { kept: '2' })
      assert.match((await round(killed)).join(), /^left out: 2 gone, \d+ changed$/)
      assert.deepEqual(await round(killed), [])
    }),
  ))

test('a record that vanishes after a start is reported, even before the first round', () =>
  withFolder(async folder => {
    await run(folder, { a: '1', b: '1' })
    assert.deepEqual(await round(folder), [])
    await runWithoutCopy(folder, { a: '2' })
    await run(folder, { young: '1', b: '2' })
    await vanish(folder, 'young')
    assert.deepEqual(await round(folder), ['missing ~young'])
  }))

test('an older metadata file put back is detected, whichever run it is from', async () => {
  const before = { a: '1', b: '1', c: '1' }
  const after = { a: '2', b: undefined, d: '1' }
  const told = ['missing ~d', 'outdated ~a', 'outdated ~b']
  const putBack = (older: (folder: string) => Promise<Buffer>, expected: readonly string[], isUsed: boolean) =>
    withFolder(async folder => {
      const old = await older(folder)
      writeFileSync(file(folder), old)
      rmSync(join(folder, 'meta', 'lock.mdb'))
      for (let n = isUsed ? 9 : 0; n > 0; n--) await runWithoutCopy(folder, { other: `${n}` })
      const found = await round(folder)
      assert.deepEqual(found.filter(line => !line.endsWith('~other')).sort(), expected)
      assert.deepEqual(leftOutFiles(folder), [])
    })
  const anEarlierRun = async (folder: string): Promise<Buffer> => {
    await run(folder, before)
    assert.deepEqual(await round(folder), [])
    const old = readFileSync(file(folder))
    await run(folder, after)
    return old
  }
  const theSameRun = async (folder: string): Promise<Buffer> => {
    await run(folder, before)
    assert.deepEqual(await round(folder), [])
    let old: Buffer | undefined
    await opened(folder, async ({ store }) => {
      old = readFileSync(file(folder))
      await change(store.context.meta, after)
    })
    return old!
  }
  const beforeThereWasACopy = async (folder: string): Promise<Buffer> => {
    await runWithoutCopy(folder, before)
    const old = readFileSync(file(folder))
    assert.deepEqual(await round(folder), [])
    await run(folder, after)
    return old
  }
  for (const older of [anEarlierRun, theSameRun, beforeThereWasACopy]) {
    for (const isUsed of [false, true]) await putBack(older, told, isUsed)
  }
})

test('known losses are not mistaken for changes by another program version', () =>
  withFolder(async folder => {
    await run(folder, { lost: '1', deleted: '1' })
    assert.deepEqual(await round(folder), [])
    await vanish(folder, 'lost')
    assert.deepEqual(await round(folder), ['missing ~lost'])
    await runWithoutCopy(folder, { deleted: undefined })
    assert.deepEqual(await round(folder), ['missing ~deleted', 'missing ~lost'])
  }))

test('rebuild reports that changes by a version without a copy cannot be restored', () =>
  withFolder(async folder => {
    await run(folder, { kept: '1' })
    assert.deepEqual(await round(folder), [])
    await runWithoutCopy(folder, { made: '1' })
    await run(folder, {})
    const { shortcomings, problems } = await rebuildFolder({ folder, progress() {} })
    assert.deepEqual(problems, [])
    assert.match(shortcomings.join(), /without a second copy worked on the folder, .* what it changed is missing/)
    assert.deepEqual(await round(folder), [])
  }))

test('the log explains it', () =>
  withFolder(async folder => {
    await run(folder, { kept: '1' })
    assert.deepEqual(await round(folder), [])
    await runWithoutCopy(folder, { kept: undefined })
    const lines: Readonly<Record<string, unknown>>[] = []
    await opened(folder, async parts => {
      const tell = { log: (line: (typeof lines)[0]) => lines.push(line), notice() {}, abort() {} }
      const [chore] = copyTask(parts.copy, parts.store.context, tell)
      ;(chore!.worker as CopyKeeper).begin()
      while ((await chore!.worker.step()) === 'busy');
      assert.ok(!parts.store.context.reclamationLock.isHeld)
    })
    assert.match(
      JSON.stringify(lines),
      /"warn","copy":"A version of the program .* 1 records .*: the copy was started anew/,
    )
  }))
