/** An administrator's way through the pages of the server. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertQuiet, showPage } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { OWNER, putMany, READER } from '../world.ts'

const TOKEN = 'the-scrape-token-of-tests'
const folder = mkdtempSync(join(tmpdir(), 'holdfast-console-'))
const tokenFile = join(folder, 'token')
writeFileSync(tokenFile, TOKEN)
after(() => rmSync(folder, { recursive: true, force: true }))

const visit = openConsole(['--metrics-token-file', tokenFile])
const { open, button, signIn } = visit

const figure = (name: string) => visit.page.getByRole('figure', { name, exact: true })
const table = (name: string) => visit.page.getByRole('table', { name, exact: true })
const HUNDREDS = /^(\d,\d{3}|[2-9]\d\d) requests in /

test('the dashboard shows the load of the object API, and goes on while other pages are shown', async () => {
  await open('/server')
  await signIn(ROOT)
  await figure('Requests per second')
    .getByText(/requests? in the last/)
    .waitFor()
  const reading = await visit.page.waitForRequest(/\/v1\/metrics/)
  assert.equal(reading.headers()['x-holdfast-idle'], '1', 'an unattended tab must not keep its session alive')
  const load = visit.world.client('load')
  await load.requestOnce({ method: 'PUT' })
  const keys = Array.from({ length: 200 }, (_, i) => `key-${i}`)
  await putMany(load, keys, 'x'.repeat(20_000))
  await Promise.all(
    keys.slice(0, 20).map(key => load.requestIfPresent({ method: 'GET', key: `missing-${key}` }, 'NoSuchKey')),
  )
  await figure('Requests per second').getByText(HUNDREDS).waitFor()
  await figure('Errors per second')
    .getByText(/^20 errors in the last/)
    .waitFor()
  await figure('Bytes per second')
    .getByText(/^[34]\.\d MiB received/)
    .waitFor()
  await figure('Latency')
    .getByText(/half of the requests within [\d.]+ m?s/)
    .waitFor()
  await figure('Disk')
    .getByText(/free of .*% used/)
    .waitFor()
  await showPage(visit.page, 'server-dashboard')
  await visit.page.getByRole('link', { name: 'Buckets', exact: true }).click()
  await visit.page.getByRole('link', { name: 'load' }).waitFor()
  await visit.page.getByRole('link', { name: 'Server', exact: true }).click()
  await figure('Requests per second').getByText(HUNDREDS).waitFor()
  await visit.page.getByText('Tables', { exact: true }).click()
  await table('Requests per second, average of each minute').getByRole('columnheader', { name: 'Writes' }).waitFor()
  assert.match(visit.page.url(), /view=tables/)
  await showPage(visit.page, 'server-tables')
  assertQuiet(visit.watched)
})

test('a worker that was killed is replaced in the list', async () => {
  await open('/server/processes')
  const rows = table('Processes that serve requests').getByRole('row').filter({ hasText: 'Serving' })
  await rows.nth(1).waitFor()
  await visit.page.getByText('No worker has exited unexpectedly').waitFor()
  const pid = await rows.first().getByRole('cell').first().innerText()
  process.kill(Number(pid), 'SIGKILL')
  await visit.page.getByRole('cell', { name: pid, exact: true }).waitFor({ state: 'detached' })
  await rows.nth(1).waitFor()
  await visit.page.getByText('1 worker has exited unexpectedly').waitFor()
  await visit.page.getByText('This server works alone.').waitFor()
  await showPage(visit.page, 'server-processes')
  assertQuiet(visit.watched)
})

test('members of a cluster are alive as long as they renew', async () => {
  let renewals = 1
  const member = { version: '1.0.0', joinedAt: '2026-01-01T00:00:00.000Z' }
  await visit.page.route('**/v1/cluster', route => {
    renewals += 1
    const members = [
      { ...member, id: 'aa01', address: '10.0.0.1:9000', renewals, leads: true },
      { ...member, id: 'bb02', address: '10.0.0.2:9000', renewals: 7, leads: false },
    ]
    return route.fulfill({ json: { epoch: 3, leader: '10.0.0.1:9000', term: 1, members } })
  })
  await open('/server/processes')
  await visit.page.getByRole('row', { name: /10\.0\.0\.1.*Leads.*Alive/ }).waitFor()
  await visit.page.getByRole('row', { name: /10\.0\.0\.2.*Silent for \d+ seconds/ }).waitFor()
  await showPage(visit.page, 'server-members')
  await visit.page
    .getByRole('row', { name: /10\.0\.0\.2/ })
    .getByRole('button', { name: 'Expel' })
    .click()
  await visit.page.getByRole('dialog', { name: 'Expel 10.0.0.2:9000?' }).getByText('joins again').waitFor()
  await visit.page.unroute('**/v1/cluster')
  assertQuiet(visit.watched)
})

/** The largest file below a folder. */
function largestFile(below: string): string {
  const files = readdirSync(below, { recursive: true, encoding: 'utf8' }).map(name => join(below, name))
  return files.reduce((most, path) => (statSync(path).size > statSync(most).size ? path : most))
}

test('a scrub from the page finds a flipped byte and names the object it affects', async () => {
  await open('/server/integrity')
  await visit.page.getByText('No scrub has run since the server started.').waitFor()
  await visit.page.getByText('has found damage').waitFor()
  const command = await visit.page.getByRole('group', { name: 'Command for a backup' }).innerText()
  assert.match(command, new RegExp(`holdfast backup \\S+ --endpoint ${visit.world.server.consoleUrl}`))
  await visit.page
    .getByRole('group', { name: 'Command for a full check' })
    .getByText(join(visit.world.folder, 'data'))
    .waitFor()
  await showPage(visit.page, 'server-integrity')

  const load = visit.world.client('load')
  await load.requestOnce({ method: 'PUT', key: 'films/<b>large.bin', body: randomBytes(24 * 2 ** 20) })
  const path = largestFile(join(visit.world.folder, 'data', 'blobs'))
  const bytes = readFileSync(path)
  const middle = bytes.length - 2 ** 20
  bytes[middle] = bytes[middle]! ^ 1
  writeFileSync(path, bytes)

  await button('Start a scrub').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Start a scrub?' })
  await dialog.getByText('reads every record').waitFor()
  await showPage(visit.page, 'server-scrub')
  await dialog.getByRole('button', { name: 'Start a scrub' }).click()
  await visit.page.getByText('The last scrub read everything.').waitFor()
  await visit.page.getByText('1 damaged place found.').waitFor()
  await visit.page.getByRole('heading', { name: 'What to do' }).waitFor()
  await showPage(visit.page, 'server-damage')
  await visit.page.getByRole('link', { name: 'Dashboard' }).click()
  await visit.page.getByText('The last scrub found damage in 1 place.').waitFor()
  await visit.page.getByRole('link', { name: 'Show', exact: true }).click()
  await visit.page.getByRole('link', { name: 'load/films/<b>large.bin' }).click()
  await visit.page.getByRole('heading', { name: '<b>large.bin', level: 1 }).waitFor()
  await visit.page.getByRole('list', { name: 'Versions, newest first' }).waitFor()
  assertQuiet(visit.watched)
})

/** Calls the admin API as the page does. */
const callFromPage = (method: string, path: string): Promise<{ backup: string } | null> =>
  visit.page.evaluate(
    `fetch(${JSON.stringify(path)}, {
      method: ${JSON.stringify(method)},
      headers: { 'x-holdfast-console': localStorage.getItem('holdfast-console-token') },
    }).then(response => response.status === 204 ? null : response.json())`,
  )

test('a backup is shown while it is taken', async () => {
  await open('/server/integrity')
  await visit.page.getByText('No backup is being taken now.').waitFor()
  await visit.page.getByText('start the server with --backup-folder DIR').waitFor()
  const started = await callFromPage('POST', '/v1/backups')
  await visit.page.getByText('A backup is being taken: reading records, 0 B sent so far.').waitFor()
  await callFromPage('DELETE', `/v1/backups/${started!.backup}`)
  await visit.page.getByText('No backup is being taken now.').waitFor()
  assertQuiet(visit.watched)
})

test('lost records come with the command that rebuilds them, and a move with its progress', async () => {
  const scrub = { state: 'never', records: 0, bytes: 0, damaged: 0, damage: [] }
  const lost = [
    { kind: 'o', bucket: 'load', key: 'key-1' },
    { kind: 'u', record: '7501' },
  ]
  await visit.page.route('**/v1/damage', route =>
    route.fulfill({ json: { scrub, lostRecords: 2, lost, incompleteKinds: [] } }),
  )
  const move = { state: 'moving', from: '/old', to: 'rados://pool', blobs: 12, bytes: 4096, damaged: 1 }
  await visit.page.route('**/v1/blobs/move', route => route.fulfill({ json: move }))
  await open('/server/integrity')
  await visit.page
    .getByRole('group', { name: 'Command to rebuild the metadata' })
    .getByText('holdfast rebuild')
    .waitFor()
  await visit.page.getByRole('link', { name: 'load/key-1' }).waitFor()
  await visit.page.getByText('12 blobs of 4.0 KiB moved so far.').waitFor()
  await visit.page.getByText('From /old to rados://pool.').waitFor()
  await showPage(visit.page, 'server-lost')
  await visit.page.unrouteAll()
  assertQuiet(visit.watched)
})

test('keys are created, rotated and disabled, and what they wrapped is rewrapped', async () => {
  await open('/server/encryption')
  await button('Create a key').click()
  await visit.page.getByRole('dialog').getByLabel('Name').fill('payroll')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  const row = visit.page.getByRole('row', { name: /^payroll/ })
  await row.getByRole('cell', { name: 'Enabled' }).waitFor()
  const headers = [
    ['x-amz-server-side-encryption', 'aws:kms'],
    ['x-amz-server-side-encryption-aws-kms-key-id', 'payroll'],
  ] as const
  const load = visit.world.client('load')
  await load.requestOnce({ method: 'PUT', key: 'wages', headers: [...headers], body: Buffer.from('secret') })

  await button('Rotate Service key').click()
  await visit.page.getByText('Nothing that is stored is touched').waitFor()
  await showPage(visit.page, 'server-rotate')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click()
  await visit.page
    .getByRole('row', { name: /^Service key/ })
    .getByRole('cell', { name: '2', exact: true })
    .waitFor()
  await button('Rotate payroll').click()
  await visit.page
    .getByRole('dialog', { name: 'Rotate the key payroll?' })
    .getByRole('button', { name: 'Rotate' })
    .click()
  await row.getByRole('cell', { name: '2', exact: true }).waitFor()
  await button('Start rewrapping').click()
  await visit.page.getByText(/^Done: \d+ records looked at, 1 rewrapped/).waitFor()
  await showPage(visit.page, 'server-encryption')

  await button('Disable payroll').click()
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click()
  await row.getByRole('cell', { name: 'Disabled' }).waitFor()
  await assert.rejects(load.requestOnce({ method: 'GET', key: 'wages' }), { code: 'KMS.DisabledException' })
  await button('Enable payroll').click()
  await row.getByRole('cell', { name: 'Enabled' }).waitFor()
  assert.equal((await load.requestOnce({ method: 'GET', key: 'wages' })).body.toString(), 'secret')
  assertQuiet(visit.watched)
})

test('a key that a held version needs is not disabled', async () => {
  const kept = visit.world.client('kept')
  await kept.requestOnce({ method: 'PUT', headers: [['x-amz-bucket-object-lock-enabled', 'true']] })
  const headers = [
    ['x-amz-server-side-encryption', 'aws:kms'],
    ['x-amz-server-side-encryption-aws-kms-key-id', 'payroll'],
    ['x-amz-object-lock-legal-hold', 'ON'],
    ['content-md5', createHash('md5').update('proof').digest('base64')],
  ] as const
  await kept.requestOnce({ method: 'PUT', key: 'proof', headers: [...headers], body: Buffer.from('proof') })
  await open('/server/encryption')
  await button('Disable payroll').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Disable the key payroll?' })
  await dialog.getByRole('button', { name: 'Disable' }).click()
  await dialog.getByRole('alert').getByText('KeyInUse').waitFor()
  await showPage(visit.page, 'server-key-in-use')
  assertQuiet(visit.watched, /409/)
})

test('usage is shown by account', async () => {
  await visit.world.client('papers', OWNER).requestOnce({ method: 'PUT' })
  await open('/server/usage')
  await table('By account')
    .getByRole('row', { name: /111111111111 1 0 0 B/ })
    .waitFor()
  await visit.page.getByRole('region', { name: 'All buckets' }).getByText('203', { exact: true }).first().waitFor()
  await showPage(visit.page, 'server-usage')
  assertQuiet(visit.watched)
})

test('settings are found by a part of their name, and secrets are not shown', async () => {
  await open('/server/configuration')
  await visit.page.getByRole('row', { name: 'metrics-token set, not shown' }).waitFor()
  const text = await visit.page.locator('body').innerText()
  for (const secret of [TOKEN, ROOT.secretKey]) assert(!text.includes(secret))
  await visit.page.getByText('Locks end by the clock of the server.').waitFor()
  await showPage(visit.page, 'server-configuration')
  const search = visit.page.getByRole('textbox', { name: 'Search settings' })
  await search.fill('worker')
  await visit.page.getByRole('row', { name: 'workers 2' }).waitFor()
  assert.equal(await visit.page.getByRole('row', { name: /metrics-token/ }).count(), 0)
  await search.fill('nothing of this name')
  await visit.page.getByText('No setting matches').waitFor()
  assertQuiet(visit.watched)
})

test('a clock that has jumped is confirmed only after a warning', async () => {
  const clock = { clock: '2031-01-01T00:00:00.000Z', lockTime: '2026-01-01T00:00:00.000Z', jumped: true }
  await visit.page.route('**/v1/clock', route => route.fulfill({ json: clock }))
  await open('/server/configuration')
  await button('Confirm the clock').click()
  await visit.page.getByRole('dialog', { name: 'Is the clock right?' }).getByText('1 Jan 2031').waitFor()
  await showPage(visit.page, 'server-clock')
  await visit.page.unrouteAll()
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Confirm the clock' }).click()
  await visit.page.getByText('Locks end by the clock of the server.').waitFor()
  assertQuiet(visit.watched)
})

test('the command palette opens a page of the server and asks about a scrub', async () => {
  await open('/buckets')
  await visit.page.getByRole('link', { name: 'load' }).waitFor()
  await visit.page.keyboard.press('Control+k')
  await visit.page.getByRole('combobox').fill('encryption keys')
  await visit.page.keyboard.press('Enter')
  await button('Rotate Storage key').waitFor()
  await visit.page.keyboard.press('Control+k')
  await visit.page.getByRole('combobox').fill('start a scrub')
  await visit.page.keyboard.press('Enter')
  await visit.page.getByRole('dialog', { name: 'Start a scrub?' }).waitFor()
  assertQuiet(visit.watched)
})

test('an address below the server that names no page says so', async () => {
  await open('/server/nothing')
  await visit.page.getByRole('heading', { name: 'There is no such page' }).waitFor()
  assertQuiet(visit.watched)
})

test('the area is not offered to others, and its address says who it is for', async () => {
  await button('Account').click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await signIn(READER)
  await visit.page.getByRole('link', { name: 'Buckets', exact: true }).waitFor()
  assert.equal(await visit.page.getByRole('link', { name: 'Server', exact: true }).count(), 0)
  await open('/server')
  await visit.page.getByRole('heading', { name: 'This page is for administrators' }).waitFor()
  await showPage(visit.page, 'server-refused')
  assertQuiet(visit.watched)
})
