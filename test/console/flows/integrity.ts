/** An administrator's full check and backup from the page, on a server that may write backups. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { holdfast, ROOT } from '../../cli/program.ts'
import { assertQuiet, showPage } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { putMany, READER } from '../world.ts'

const visit = openConsole(folder => ['--backup-folder', join(folder, 'backups')])
const { open, button, signIn } = visit

const section = (name: string) => visit.page.getByRole('region', { name, exact: true })
const vault = (): string => join(visit.world.folder, 'backups', 'nightly')

test('a full check of a store that is whole says so', async () => {
  await open('/server/integrity')
  await signIn(ROOT)
  await visit.page.getByText('No full check has run since the server started.').waitFor()
  const load = visit.world.client('load')
  await load.requestOnce({ method: 'PUT' })
  await putMany(
    load,
    Array.from({ length: 50 }, (_, i) => `key-${i}`),
    'x'.repeat(20_000),
  )
  await button('Start a full check').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Start a full check?' })
  await dialog.getByText('It changes nothing').waitFor()
  await showPage(visit.page, 'integrity-start')
  await dialog.getByRole('button', { name: 'Start a full check' }).click()
  await visit.page.getByText('The last full check is complete.').waitFor()
  await section('Full check').getByText('No problems found.').waitFor()
  await section('Full check').getByText('50 versions, 0 of them held, in 50 blobs.').waitFor()
  await showPage(visit.page, 'integrity-whole')
  assertQuiet(visit.watched)
})

test('a backup is taken under a name, and again with what is new', async () => {
  await open('/server/integrity')
  await section('Backup').getByText('The server has taken no backup since it started.').waitFor()
  await button('Take a backup').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Take a backup' })
  await dialog.getByLabel('Name of the backup').fill('../data')
  await dialog.getByRole('button', { name: 'Take a backup' }).click()
  await dialog.getByRole('alert').getByText('name is not 1 to 64 letters').waitFor()
  await showPage(visit.page, 'integrity-backup-name')
  await dialog.getByLabel('Name of the backup').fill('nightly')
  await dialog.getByRole('button', { name: 'Take a backup' }).click()
  await visit.page.getByText('The last backup by the server is complete.').waitFor()
  await section('Backup').getByText('50 blobs of 977 KiB; new: 50 blobs of 977 KiB.').waitFor()
  await visit.world.client('load').requestOnce({ method: 'PUT', key: 'one-more', body: Buffer.alloc(20_000, 'y') })
  await button('Take a backup').click()
  await dialog.getByRole('button', { name: 'Take a backup' }).click()
  await section('Backup').getByText('51 blobs of 996 KiB; new: 1 blob of 19.5 KiB.').waitFor()
  await section('Backup').getByRole('listitem').getByText('nightly: 2 backups').waitFor()
  await showPage(visit.page, 'integrity-backup')
  const verified = await holdfast(['backup', 'verify', vault(), '--json'])
  assert.deepEqual([verified.code, JSON.parse(verified.out).problems], [0, []])
  assertQuiet(visit.watched, /400/)
})

test('progress is shown while a check and a backup run, and each can be stopped', async () => {
  const found = { problems: [], problemCount: 0, damage: [], damageCount: 0, held: 0 }
  const counted = { versions: 3, blobs: 2, totalBytes: 4096, records: 12, bytes: 1024 }
  const startedAt = new Date().toISOString()
  let state = 'running'
  await visit.page.route('**/v1/fsck', route => {
    if (route.request().method() === 'DELETE') state = 'stopped'
    return route.fulfill({ json: { state, phase: 'bytes', deep: true, startedAt, ...counted, ...found } })
  })
  const backup = { name: 'nightly', startedAt, phase: 'blobs', writtenBytes: 2048, folder: '/b', backups: [] }
  let backupState = 'running'
  await visit.page.route('**/v1/server-backup', route => {
    if (route.request().method() === 'DELETE') backupState = 'stopped'
    return route.fulfill({ json: { state: backupState, ...backup } })
  })
  await open('/server/integrity')
  await visit.page.getByText('Reading the bytes of all blobs.').waitFor()
  assert.equal(await visit.page.getByRole('progressbar').getAttribute('aria-valuenow'), '25')
  await section('Backup').getByText('nightly: 2.0 KiB written. (reading blobs)').waitFor()
  await button('Stop the full check').click()
  await visit.page.getByText('The last full check was stopped.').waitFor()
  await button('Stop the backup').click()
  await visit.page.getByText('The last backup by the server was stopped.').waitFor()
  await showPage(visit.page, 'integrity-stopped')
  await visit.page.unrouteAll()
  assertQuiet(visit.watched)
})

/** The largest file below a folder. */
function largestFile(below: string): string {
  const files = readdirSync(below, { recursive: true, encoding: 'utf8' }).map(name => join(below, name))
  return files.reduce((most, path) => (statSync(path).size > statSync(most).size ? path : most))
}

test('a full check finds a flipped byte and names the object', async () => {
  const load = visit.world.client('load')
  await load.requestOnce({ method: 'PUT', key: 'films/large.bin', body: randomBytes(8 * 2 ** 20) })
  const path = largestFile(join(visit.world.folder, 'data', 'blobs'))
  const bytes = readFileSync(path)
  bytes[bytes.length - 2 ** 20]! ^= 1
  writeFileSync(path, bytes)
  await open('/server/integrity')
  await button('Start a full check').waitFor()
  await visit.page.keyboard.press('Control+k')
  await visit.page.getByRole('combobox').fill('start a full check')
  await visit.page.keyboard.press('Enter')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Start a full check' }).click()
  await section('Full check').getByText('1 problem found.').waitFor()
  await visit.page
    .getByRole('list', { name: 'Damage found by the full check' })
    .getByRole('link', { name: 'load/films/large.bin' })
    .waitFor()
  await showPage(visit.page, 'integrity-damage')
  await visit.page.getByRole('link', { name: 'Dashboard' }).click()
  await visit.page.getByText('The last full check found 1 problem.').waitFor()
  assertQuiet(visit.watched)
})

test('the page is not offered to other callers', async () => {
  await button('Account').click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await signIn(READER)
  // Leaving the form earlier would abort the sign-in.
  await button('Account').waitFor()
  await open('/server/integrity')
  await visit.page.getByRole('heading', { name: 'This page is for administrators' }).waitFor()
  assertQuiet(visit.watched)
})
