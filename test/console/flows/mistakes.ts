/** Slips of a person, and pages that break: each is caught where it happens, in words that help. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertQuiet, showPage } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { putMany } from '../world.ts'

const BUCKET = 'workshop'
const visit = openConsole()
const { open, button, signIn } = visit

test('a page that breaks says so in its place, and the others go on', async () => {
  const client = visit.world.client(BUCKET)
  await client.requestOnce({ method: 'PUT' })
  await putMany(client, ['plan.txt'])
  await open('/access')
  await signIn(ROOT)
  await visit.page.getByRole('heading', { name: 'Accounts', level: 1 }).waitFor()
  await visit.page.route('**/v1/buckets?*', route => route.fulfill({ json: { buckets: [null] } }))
  const buckets = visit.page.getByRole('link', { name: 'Buckets', exact: true })
  await buckets.click()
  await visit.page.getByRole('heading', { name: 'This page broke' }).waitFor()
  await showPage(visit.page, 'broken-page')
  await visit.page.getByRole('link', { name: 'Server', exact: true }).click()
  await visit.page.getByRole('heading', { name: 'Server', level: 1 }).waitFor()
  await visit.page.unroute('**/v1/buckets?*')
  await open('/buckets')
  await visit.page.getByRole('link', { name: BUCKET }).waitFor()
  assertQuiet(visit.watched, /TypeError/)
})

test('lifecycle rules are saved after it was said what they delete, and that it is final', async () => {
  await open(`/buckets/${BUCKET}/rules?kind=lifecycle`)
  await button('Add a rule').click()
  await button('Apply').click()
  await visit.page.getByLabel('In days').fill('-5')
  await visit.page.getByText('A number from 0 to 36,500.').waitFor()
  assert(await button('Show preview').isDisabled())
  await visit.page.getByLabel('In days').fill('31')
  await button('Show preview').click()
  await visit.page.getByText('1 action, 1 B.').waitFor()
  await button('Save').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Save these rules?' })
  await dialog.getByText('Delete all objects 30 days after they were written.').waitFor()
  await dialog.getByText('This bucket keeps no versions: what the rule deletes is gone.').waitFor()
  await showPage(visit.page, 'rules-lifecycle-save')
  await visit.page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await visit.page.getByText('There are changes that are not saved.').waitFor()
  await button('Discard changes').click()
  assertQuiet(visit.watched)
})

test('a CORS rule needs an origin and a method, and a log a bucket', async () => {
  await open(`/buckets/${BUCKET}/rules?kind=cors`)
  await button('Add a rule').click()
  const dialog = visit.page.getByRole('dialog', { name: 'CORS rule' })
  for (const method of ['GET', 'HEAD']) await dialog.getByLabel(method, { exact: true }).uncheck()
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await dialog.getByText('Name at least one origin').waitFor()
  await dialog.getByText('Choose at least one method.').waitFor()
  await showPage(visit.page, 'rules-cors-mistakes')
  await visit.page.keyboard.press('Escape')
  await open(`/buckets/${BUCKET}/rules?kind=logging`)
  await button('Log requests').click()
  await visit.page.getByText('The log needs a bucket.').waitFor()
  await button('Save').click()
  await visit.page.getByText('Something that is needed is missing').waitFor()
  await button('Discard changes').click()
  assertQuiet(visit.watched, /400/)
})

test('a bucket that is not there is said once', async () => {
  await open('/buckets/never-made/rules')
  await visit.page.getByRole('heading', { name: 'No such bucket' }).waitFor()
  assert.equal(await visit.page.getByRole('alert').count(), 0)
  assertQuiet(visit.watched, /404/)
})

test('on a phone, the link of the page that is shown is in view', async () => {
  await visit.page.setViewportSize({ width: 360, height: 740 })
  await open('/server/configuration')
  const link = visit.page.getByRole('link', { name: 'Configuration' })
  await link.waitFor()
  const box = await link.boundingBox()
  assert(box !== null && box.x >= 0 && box.x + box.width <= 360, JSON.stringify(box))
  assertQuiet(visit.watched)
})
