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

test('lifecycle rules are saved after a warning about what they delete permanently', async () => {
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
  await visit.page.getByText('The log needs a bucket to be written into.').waitFor()
  assert(await button('Save').isDisabled())
  await button('Discard changes').click()
  assertQuiet(visit.watched)
})

test('the forms of rules explain values that the server would refuse', async () => {
  const { page } = visit
  const label = (text: string) => page.getByLabel(text, { exact: true })
  await visit.world
    .client('forms')
    .requestOnce({ method: 'PUT', headers: [['x-amz-bucket-object-lock-enabled', 'true']] })
  await open('/buckets/forms/rules?kind=website')
  await button('Set up a website').click()
  await label('Index document').fill('pages/index.html')
  await page.getByText('The index document needs a name without slashes').waitFor()
  assert(await button('Save').isDisabled())
  await label('The site').selectOption('redirect')
  await label('Host name').fill('https://www.example.com')
  await page.getByText('A redirect needs the name of a host alone').waitFor()
  await showPage(page, 'rules-website-wrong')
  await label('Host name').fill('www.example.com')
  assert.equal(await button('Save').isDisabled(), false)
  await button('Discard changes').click()
  await open('/buckets/forms/rules?kind=lock')
  await label('Retain new versions').selectOption('GOVERNANCE')
  await label('For this long').fill('')
  await page.getByText('The period must be a whole number from 1 to 36,500 days.').waitFor()
  assert(await button('Save').isDisabled())
  await button('Discard changes').click()
  await open('/buckets/forms/rules?kind=lifecycle')
  await button('Add a rule').click()
  const dialog = page.getByRole('dialog', { name: 'Lifecycle rule' })
  await dialog.getByLabel('Days', { exact: true }).fill('0')
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await dialog.getByText('Say after how many days objects are deleted').waitFor()
  await dialog.getByLabel('Delete objects', { exact: true }).selectOption('never')
  await dialog.getByText('The rule does nothing yet').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  assertQuiet(visit.watched)
})

test('a missing bucket is reported once', async () => {
  // Refused as well, and possibly the last of them: the browser logs each.
  const permissions = visit.page.waitForResponse(response => response.url().endsWith('/v1/session/permissions'))
  await open('/buckets/never-made/rules')
  await permissions
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
