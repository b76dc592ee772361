/** A person's way through legal holds, retention and the ledger. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { holdfast, ROOT } from '../../cli/program.ts'
import { assertAccessible, assertQuiet, showPage } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { OWNER, putMany, READER } from '../world.ts'

const visit = openConsole()
const { open, button, signIn } = visit

const dialog = (name: string) => visit.page.getByRole('dialog', { name })
const row = (text: string) =>
  visit.page
    .getByRole('table', { name: /Held and retained/ })
    .getByRole('row')
    .filter({ hasText: text })

async function lockOf(key: string): Promise<{ hold: unknown; mode: unknown }> {
  const { response } = await visit.world.client('evidence').read({ method: 'HEAD', key })
  const { headers } = response
  return { hold: headers['x-amz-object-lock-legal-hold'], mode: headers['x-amz-object-lock-mode'] }
}

test('a bucket without Object Lock says so and what to do', async () => {
  const plain = visit.world.client('plain')
  await plain.requestOnce({ method: 'PUT' })
  await putMany(plain, ['note.txt'])
  await open('/buckets/plain/holds')
  await signIn(ROOT)
  await visit.page.getByRole('heading', { name: 'This bucket has no Object Lock' }).waitFor()
  await showPage(visit.page, 'holds-without-lock')
  await open('/buckets/plain/object?key=note.txt&tab=holds')
  await visit.page.getByText('it cannot be turned off again').waitFor()
  await open('/buckets/plain')
  await visit.page.getByRole('checkbox', { name: 'Select note.txt' }).check()
  await button('Hold or retain…').click()
  await dialog('Hold or retain').getByText('This bucket has no Object Lock').waitFor()
  await button('Open the rule of Object Lock').click()
  await visit.page.waitForURL(/\/buckets\/plain\/rules\?kind=lock$/)
  assertQuiet(visit.watched)
})

test('the page of holds teaches while nothing is held', async () => {
  const evidence = visit.world.client('evidence')
  await evidence.requestOnce({ method: 'PUT', headers: [['x-amz-bucket-object-lock-enabled', 'true']] })
  await putMany(evidence, ['contract.pdf', 'letters/1.txt', 'letters/2.txt', 'letters/3.txt', '=cmd.txt'])
  await putMany(evidence, ['letters/1.txt'], 'newer')
  await open('/buckets/evidence/holds')
  await visit.page.getByRole('heading', { name: 'Nothing is held or retained' }).waitFor()
  await showPage(visit.page, 'holds-empty')
  assertQuiet(visit.watched)
})

test('a version is put on hold after its meaning was told, and released', async () => {
  await open('/buckets/evidence/object?key=contract.pdf&tab=holds')
  await visit.page.getByRole('region', { name: 'Legal hold' }).getByText('Off.').waitFor()
  await showPage(visit.page, 'object-holds')
  await button('Put on legal hold').click()
  const asked = dialog('Put this version on legal hold?')
  await asked.getByText('Nobody, not even the root account, can delete this version').waitFor()
  await showPage(visit.page, 'put-on-hold')
  await asked.getByRole('button', { name: 'Put on legal hold' }).click()
  await visit.page.getByText(/^Since .* by account/).waitFor()
  assert.equal((await lockOf('contract.pdf')).hold, 'ON')
  await button('Release the hold').click()
  const released = dialog('Release the hold on this version?')
  await released.getByText('can be deleted as soon as the hold is released').waitFor()
  await released.getByRole('button', { name: 'Release the hold' }).click()
  await visit.page.getByRole('region', { name: 'Legal hold' }).getByText('Off.').waitFor()
  assert.notEqual((await lockOf('contract.pdf')).hold, 'ON')
  assertQuiet(visit.watched)
})

test('governance retention is shortened by an explicit bypass only, and lifted', async () => {
  await open('/buckets/evidence/object?key=contract.pdf&tab=holds')
  await button('Retain until a date').click()
  const form = dialog('Retain this version')
  await form.getByLabel('Until the end of').fill('2001-01-01')
  await form.getByText('Choose a day from tomorrow on').waitFor()
  await form.getByRole('button', { name: '1 year' }).click()
  await form.getByText('nobody can delete this version without bypassing').waitFor()
  await showPage(visit.page, 'retain')
  await form.getByRole('button', { name: 'Retain', exact: true }).click()
  await visit.page.getByText(/^Governance, until/).waitFor()
  await button('Change retention').click()
  await form.getByRole('button', { name: '30 days' }).click()
  await form.getByText('A shorter retention needs the bypass.').waitFor()
  const confirm = form.getByRole('button', { name: 'Retain', exact: true })
  assert(await confirm.isDisabled())
  await form.getByRole('checkbox', { name: 'Bypass governance retention' }).check()
  await confirm.click()
  await form.waitFor({ state: 'detached' })
  await showPage(visit.page, 'object-retained')
  await button('Lift retention').click()
  await dialog('Lift the retention of this version?').getByRole('button', { name: 'Lift retention' }).click()
  await visit.page.getByText('None.').waitFor()
  assert.equal((await lockOf('contract.pdf')).mode, undefined)
  assertQuiet(visit.watched)
})

test('compliance retention says that nobody can shorten it, and only a later day is accepted', async () => {
  await open('/buckets/evidence/object?key=contract.pdf&tab=holds')
  await button('Retain until a date').click()
  const form = dialog('Retain this version')
  await form.getByRole('radio', { name: 'Compliance' }).check()
  await form.getByRole('button', { name: '1 year' }).click()
  await form.getByText('Compliance retention cannot be shortened').waitFor()
  await showPage(visit.page, 'retain-compliance')
  await form.getByRole('button', { name: 'Retain', exact: true }).click()
  await visit.page.getByText(/^Compliance, until/).waitFor()
  assert.equal((await lockOf('contract.pdf')).mode, 'COMPLIANCE')
  await button('Extend retention').click()
  await form.getByRole('button', { name: '30 days' }).click()
  await form.getByText('You can only choose a later day').waitFor()
  assert(await form.getByRole('button', { name: 'Retain', exact: true }).isDisabled())
  assert.equal(await button('Lift retention').count(), 0)
  assertQuiet(visit.watched)
})

test('a selection is counted, held with its older versions, and released as a prefix', async () => {
  await open('/buckets/evidence')
  await visit.page.getByRole('checkbox', { name: 'Select letters/' }).check()
  await visit.page.getByRole('checkbox', { name: 'Select =cmd.txt' }).check()
  await button('Hold or retain…').click()
  const form = dialog('Hold or retain')
  await form.getByText('4 objects with 5 versions.').waitFor()
  await form.getByText('None of the chosen versions is held').waitFor()
  await form.getByRole('radio', { name: 'All versions (5)' }).check()
  await form.getByText('5 versions will be on hold. Nobody').waitFor()
  await showPage(visit.page, 'hold-selection')
  await form.getByRole('button', { name: 'Hold 5 versions' }).click()
  await form.getByText('5 versions changed.').waitFor()
  await form.getByRole('button', { name: 'Close' }).last().click()
  assert.equal((await lockOf('letters/2.txt')).hold, 'ON')
  await open('/buckets/evidence/holds')
  await row('contract.pdf').getByText('Compliance').waitFor()
  await row('=cmd.txt').getByText('Legal hold').waitFor()
  await visit.page.getByText('6 versions').waitFor()
  await showPage(visit.page, 'holds')
  await visit.page.getByRole('textbox', { name: 'Keys that begin with' }).fill('letters/')
  await row('contract.pdf').waitFor({ state: 'detached' })
  await visit.page.getByText('4 versions').waitFor()
  await visit.page.waitForURL(/\?prefix=letters%2F$/)
  await button('Hold or retain…').click()
  await form.getByRole('button', { name: 'Count' }).click()
  await form.getByRole('radio', { name: 'Release legal holds' }).check()
  await form.getByRole('button', { name: 'Release 3 versions' }).click()
  await form.getByText('3 versions changed.').waitFor()
  await form.getByRole('button', { name: 'Close' }).last().click()
  await visit.page.getByText('1 version', { exact: true }).waitFor()
  await row('older version').waitFor()
  assertQuiet(visit.watched)
})

test('one hold is released on the page of holds, and the rest is exported as a table', async () => {
  await open('/buckets/evidence/holds')
  const coming = visit.page.waitForEvent('download')
  await button('Export CSV').click()
  const download = await coming
  assert.equal(download.suggestedFilename(), 'evidence-holds.csv')
  const lines = readFileSync(await download.path(), 'utf8').split('\r\n')
  assert.match(lines[0]!, /^key,version,current/)
  assert(lines.some(line => line.startsWith("'=cmd.txt,")))
  assert(lines.some(line => line.startsWith('contract.pdf,') && line.includes(',compliance,')))
  await button('Release the hold on =cmd.txt').click()
  await dialog('Release the hold on this version?').getByRole('button', { name: 'Release the hold' }).click()
  await row('=cmd.txt').waitFor({ state: 'detached' })
  await row('contract.pdf').getByRole('link', { name: 'contract.pdf' }).click()
  await visit.page.getByText(/^Compliance, until/).waitFor()
  assertQuiet(visit.watched)
})

test('what the server refuses of a selection is listed with its reason', async () => {
  await open('/buckets/evidence')
  await visit.page.getByRole('checkbox', { name: 'Select letters/' }).check()
  await button('Hold or retain…').click()
  const form = dialog('Hold or retain')
  await form.getByText('3 objects with 4 versions.').waitFor()
  // Between counting and holding, one of them goes.
  await visit.world.client('evidence').requestOnce({ method: 'PUT', key: 'letters/3.txt', body: Buffer.from('x') })
  const { body } = await visit.world.client('evidence').requestOnce({
    method: 'GET',
    query: { versions: '', prefix: 'letters/3.txt' },
  })
  const old = [...body.toString().matchAll(/<VersionId>(.*?)<\/VersionId>/g)].at(-1)![1]!
  await visit.world
    .client('evidence')
    .requestOnce({ method: 'DELETE', key: 'letters/3.txt', query: { versionId: old } })
  await form.getByRole('button', { name: 'Hold 3 versions' }).click()
  await form.getByText('2 versions changed.').waitFor()
  await form.getByText('1 version could not be changed').waitFor()
  await form.getByText(/^letters\/3.txt: /).waitFor()
  await showPage(visit.page, 'hold-refused')
  assertQuiet(visit.watched, /404/)
})

test('holding many can be stopped, and the report counts what was done', async () => {
  const keys = Array.from({ length: 20 }, (_, i) => `many/${i}.txt`)
  await putMany(visit.world.client('evidence'), keys)
  await open('/buckets/evidence/holds?prefix=many%2F')
  await button('Hold or retain…').click()
  const form = dialog('Hold or retain')
  await form.getByRole('button', { name: 'Count' }).click()
  // Nothing gets through before the work was stopped.
  let letGo = (): void => {}
  const isStopped = new Promise<void>(resolve => {
    letGo = resolve
  })
  await visit.page.route(/[?&]legal-hold/, async route => {
    await isStopped
    await route.continue()
  })
  await form.getByRole('button', { name: 'Hold 20 versions' }).click()
  await form.getByText('0 of 20 versions').waitFor()
  await showPage(visit.page, 'hold-progress')
  await form.getByRole('button', { name: 'Stop' }).click()
  letGo()
  await form.getByText('Stopped after 8 of 20 versions. The rest is unchanged.').waitFor()
  await visit.page.unroute(/[?&]legal-hold/)
  await form.getByRole('button', { name: 'Close' }).last().click()
  await visit.page.getByText('8 versions', { exact: true }).waitFor()
  assertQuiet(visit.watched)
})

const verdictOn = (page: Page) => page.getByRole('region', { name: 'Verification' })

test('the ledger is read in sentences, and the browser itself verifies it', async () => {
  await open('/buckets')
  await visit.page.getByRole('link', { name: 'Ledger' }).click()
  await visit.page.getByText('Trust in it comes from outside').waitFor()
  await showPage(visit.page, 'ledgers')
  await visit.page.getByRole('list', { name: 'Ledgers' }).getByRole('link', { name: 'evidence' }).click()
  await verdictOn(visit.page)
    .getByText(/^Verified: \d+ entries, unchanged and complete/)
    .waitFor()
  const entries = visit.page.getByRole('table', { name: 'Entries, newest first' })
  await entries.getByText('Put letters/1.txt on legal hold').first().waitFor()
  await showPage(visit.page, 'ledger')
  await visit.page.getByRole('combobox', { name: 'Kind' }).selectOption('Object Lock of the bucket')
  await entries.getByText('Turned on Object Lock').waitFor()
  await visit.page.getByRole('combobox', { name: 'Kind' }).selectOption('Retention')
  await visit.page.getByRole('textbox', { name: /^Object, version/ }).fill('CONTRACT')
  await visit.page.waitForURL(/filter=CONTRACT&kind=retention$/)
  await entries.getByText('bypassing governance retention').first().waitFor()
  await visit.page.getByText(/^\d entries of \d+$/).waitFor()
  await showPage(visit.page, 'ledger-filter')
  assertQuiet(visit.watched)
})

test('the export of a ledger verifies on the command line, and a later one continues it', async () => {
  await open('/ledger/evidence')
  const coming = visit.page.waitForEvent('download')
  await button('Export NDJSON').click()
  const path = await (await coming).path()
  const file = join(visit.world.folder, 'evidence.ndjson')
  writeFileSync(file, readFileSync(path))
  const command = await visit.page.getByText('holdfast ledger verify').textContent()
  const key = / --public-key ([0-9a-f]{64})$/.exec(command ?? '')?.[1] ?? ''
  const { code, out } = await holdfast(['ledger', 'verify', file, '--public-key', key])
  assert.deepEqual([code, /^whole: \d+ entries of evidence/.test(out)], [0, true])
  const chooser = visit.page.waitForEvent('filechooser')
  await button('Compare with an earlier export').click()
  await (await chooser).setFiles(file)
  await verdictOn(visit.page)
    .getByText(/It continues the earlier export of \d+ entries/)
    .waitFor()
  await visit.page.getByLabel('Public key that you know').fill('ab'.repeat(32))
  await button('Verify again').click()
  await visit.page.getByRole('alert').getByText('names another signing key').waitFor()
  assertQuiet(visit.watched)
})

test('an entry that was changed on its way is found and shown', async () => {
  await visit.page.route(/\/v1\/ledgers\/evidence\/entries/, async route => {
    const response = await route.fetch()
    const page = (await response.json()) as { lines: string[] }
    const lines = page.lines.with(2, page.lines[2]!.replace('"OFF"', '"ON"'))
    assert.notDeepEqual(lines, page.lines)
    await route.fulfill({ response, json: { ...page, lines } })
  })
  await open('/ledger/evidence')
  await visit.page.getByRole('alert').getByText('Not verified: entry 3 is wrong').waitFor()
  await visit.page.getByText('its hash does not match').waitFor()
  await visit.page.getByRole('link', { name: 'Show entry 3' }).click()
  await visit.page.getByRole('row').filter({ hasText: 'Wrong' }).waitFor()
  await showPage(visit.page, 'ledger-broken')
  await visit.page.unroute(/\/v1\/ledgers\/evidence\/entries/)
  assertQuiet(visit.watched)
})

test('a browser that cannot verify says so and offers the word of the server', async () => {
  const poor = await visit.watched.context.newPage()
  await poor.addInitScript('Object.defineProperty(crypto, "subtle", { value: undefined })')
  await poor.goto(`${visit.world.server.consoleUrl}/ledger/evidence`)
  await poor.getByText('Browsers offer cryptography only over HTTPS').waitFor()
  await poor.getByRole('button', { name: 'Ask the server' }).click()
  await poor.getByText(/^The server says: \d+ entries, complete and signed/).waitFor()
  await showPage(poor, 'ledger-without-crypto')
  await poor.close()
  const older = await visit.watched.context.newPage()
  await older.addInitScript(
    'SubtleCrypto.prototype.importKey = () => Promise.reject(new DOMException("unknown", "NotSupportedError"))',
  )
  await older.goto(`${visit.world.server.consoleUrl}/ledger/evidence`)
  await older.getByText('This browser cannot check Ed25519 signatures').waitFor()
  await older.close()
  assertQuiet(visit.watched)
})

test('a user without permission sees locks and why they cannot be changed', async () => {
  const papers = visit.world.client('papers', OWNER)
  await papers.requestOnce({ method: 'PUT', headers: [['x-amz-bucket-object-lock-enabled', 'true']] })
  await putMany(papers, ['draft.txt'], 'draft')
  await open('/buckets')
  await visit.page.getByRole('link', { name: 'evidence' }).waitFor()
  await button('Account').click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await visit.page.getByRole('heading', { name: 'Sign in to Holdfast' }).waitFor()
  await signIn(READER)
  await visit.page.getByRole('link', { name: 'papers' }).waitFor()
  assert.equal(await visit.page.getByRole('link', { name: 'Ledger' }).count(), 0)
  await open('/buckets/papers/object?key=draft.txt&tab=holds')
  const hold = button('Put on legal hold')
  await hold.and(visit.page.locator('[aria-disabled="true"]')).waitFor()
  await hold.hover()
  await visit.page.getByRole('tooltip').filter({ hasText: 'PutObjectLegalHold' }).waitFor()
  await showPage(visit.page, 'holds-refused')
  await open('/ledger/evidence')
  await visit.page.getByText('Only administrators may read ledgers').waitFor()
  await open('/buckets/papers/holds')
  await visit.page.getByText('AccessDenied').waitFor()
  await assertAccessible(visit.page)
  assertQuiet(visit.watched, /403/)
})
