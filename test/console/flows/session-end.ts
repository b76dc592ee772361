/** Sessions that end while a person is in the middle of something. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { ROOT } from '../../cli/program.ts'
import { assertQuiet, showPage } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { OWNER, putMany } from '../world.ts'

const BUCKET = 'desk'
const visit = openConsole()
const { open, button, signIn } = visit

const cover = (page = visit.page) => page.getByRole('dialog', { name: 'Your session has ended' })

/** The session is over, and the page does not know. */
const endOnServer = (): Promise<unknown> =>
  visit.page.evaluate(`fetch('/v1/session', {
    method: 'DELETE',
    headers: { 'x-holdfast-console': localStorage['holdfast-console-token'] },
  })`)

/** A tab that comes into view asks at once; one that stays in view asks every minute. */
const lookAt = (page: Page): Promise<unknown> =>
  page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)

const object = (name: string) => visit.page.getByRole('link', { name })

test('the end of a session hides the page, and the same person finds it as it was, with new data', async () => {
  const client = visit.world.client(BUCKET)
  await client.requestOnce({ method: 'PUT' })
  await putMany(client, ['one.txt', 'two.txt'])
  await open(`/buckets/${BUCKET}`)
  await signIn(ROOT)
  await visit.page.getByRole('checkbox', { name: 'Select one.txt' }).check()
  await endOnServer()
  await lookAt(visit.page)
  await cover().waitFor()
  assert.equal(await object('one.txt').isVisible(), false)
  assert.equal(await visit.page.title(), 'Holdfast')
  await showPage(visit.page, 'session-ended')
  await putMany(client, ['three.txt'])
  await signIn({ ...ROOT, secretKey: 'wrong' })
  await cover().getByText('is wrong').waitFor()
  await signIn(ROOT)
  await object('three.txt').waitFor()
  assert.equal(await cover().count(), 0)
  assert(await visit.page.getByRole('checkbox', { name: 'Select one.txt' }).isChecked())
  assert.equal(await visit.page.title(), `${BUCKET} – Holdfast`)
  assertQuiet(visit.watched, /40[13]/)
})

test('a form that was sent too late keeps its text, whatever keys are pressed above it', async () => {
  await open('/buckets?create=yes')
  const dialog = visit.page.getByRole('dialog', { name: 'Create a bucket' })
  await dialog.getByLabel('Name').fill('half-typed')
  await endOnServer()
  await dialog.getByRole('button', { name: 'Create' }).click()
  await cover().waitFor()
  assert.equal(await dialog.isVisible(), false)
  for (const key of ['Escape', 'Escape', 'Control+k', 'Escape']) await visit.page.keyboard.press(key)
  await cover().waitFor()
  await signIn(ROOT)
  await dialog.getByText('You are signed in again: try again.').waitFor()
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'half-typed')
  assert.equal(await visit.page.getByRole('dialog').count(), 1)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await visit.page.getByRole('heading', { name: 'half-typed', level: 1 }).waitFor()
  assertQuiet(visit.watched, /401/)
})

test('an upload that lost its session goes on when the same person is back', async () => {
  const bytes = randomBytes(20 * 2 ** 20)
  const path = join(visit.world.folder, 'long.bin')
  writeFileSync(path, bytes)
  await open(`/buckets/${BUCKET}`)
  await visit.page.route(/partNumber=2/, async route => {
    await endOnServer()
    await route.continue()
  })
  const chooser = visit.page.waitForEvent('filechooser')
  await button('Upload files').click()
  await (await chooser).setFiles(path)
  await cover().waitFor()
  await visit.page.unroute(/partNumber=2/)
  await signIn(ROOT)
  await visit.page.getByText('1 of 1 file uploaded').waitFor()
  assert((await visit.world.client(BUCKET).requestOnce({ method: 'GET', key: 'long.bin' })).body.equals(bytes))
  await button('Clear finished').click()
  assertQuiet(visit.watched, /401/)
})

test('signing in again in one tab opens the other one, too', async () => {
  await open(`/buckets/${BUCKET}`)
  await visit.page.getByRole('checkbox', { name: 'Select two.txt' }).check()
  const second = await visit.watched.context.newPage()
  await second.goto(`${visit.world.server.consoleUrl}/buckets?create=yes`)
  const name = second.getByRole('dialog').getByLabel('Name')
  await name.fill('other-tab')
  await endOnServer()
  await lookAt(second)
  await cover(second).waitFor()
  await lookAt(visit.page)
  await cover().waitFor()
  await signIn(ROOT)
  await cover(second).waitFor({ state: 'detached' })
  assert.equal(await name.inputValue(), 'other-tab')
  assert(await visit.page.getByRole('checkbox', { name: 'Select two.txt' }).isChecked())
  await second.close()
  assertQuiet(visit.watched, /401/)
})

test('an editor keeps its text over the end of a session', async () => {
  await open(`/buckets/${BUCKET}/rules?kind=tags&view=document`)
  const editor = visit.page.getByRole('textbox', { name: 'Document: Tags' })
  await editor.fill('<Tagging><TagSet></TagSet></Tagging>')
  const unsaved = visit.page.getByText('There are changes that are not saved.')
  await unsaved.waitFor()
  const typed = await editor.innerText()
  assert.match(typed, /TagSet/)
  await endOnServer()
  await lookAt(visit.page)
  await cover().waitFor()
  await signIn(ROOT)
  await cover().waitFor({ state: 'detached' })
  await unsaved.waitFor()
  assert.equal(await editor.innerText(), typed)
  assertQuiet(visit.watched, /401/)
})

test('what one person left behind is dropped when another one signs in', async () => {
  await open('/buckets?create=yes')
  const name = visit.page.getByRole('dialog', { name: 'Create a bucket' }).getByLabel('Name')
  await name.fill('half-typed-again')
  await endOnServer()
  await lookAt(visit.page)
  await cover().waitFor()
  await signIn(OWNER)
  await cover().waitFor({ state: 'detached' })
  // The address still asks for the dialog.
  await name.waitFor()
  assert.equal(await name.inputValue(), '')
  await visit.page.keyboard.press('Escape')
  await button('Account').click()
  await visit.page.getByText(OWNER.accessKey).waitFor()
  assertQuiet(visit.watched, /401/)
})
