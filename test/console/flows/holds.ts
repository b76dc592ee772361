/** A person's way through legal holds, retention and the ledger. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
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
  await visit.page.getByText('holdfast bucket lock BUCKET').waitFor()
  await open('/buckets/plain')
  await visit.page.getByRole('checkbox', { name: 'Select note.txt' }).check()
  await button('Hold or retain…').click()
  await dialog('Hold or retain').getByText('This bucket has no Object Lock').waitFor()
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
  assert(visit.page.url().endsWith('?prefix=letters%2F'))
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
  await row('contract.pdf').getByRole('link').click()
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
  await open('/buckets/papers/holds')
  await visit.page.getByText('AccessDenied').waitFor()
  await assertAccessible(visit.page)
  assertQuiet(visit.watched, /403/)
})
