/** Sessions that end while a person is in the middle of something. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { ROOT } from '../../cli/program.ts'
import { gate } from '../../store/fixture.ts'
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

const MOVED = 24
const moves = () => visit.page.getByRole('region', { name: 'Copies and moves' })

async function countBelow(prefix: string): Promise<number> {
  const query = { 'list-type': '2', prefix }
  const { body } = await visit.world.client(BUCKET).requestOnce({ method: 'GET', query })
  return body.toString().match(/<Key>/g)?.length ?? 0
}

/** Moves a folder. The session ends on the server before the first copy arrives there. */
async function moveUntilSessionEnds(folder: string, to: string): Promise<void> {
  const keys = Array.from({ length: MOVED }, (_, i) => `${folder}${i}.txt`)
  await putMany(visit.world.client(BUCKET), keys)
  await open(`/buckets/${BUCKET}?prefix=${encodeURIComponent(folder)}`)
  await button('More actions on this folder').click()
  await visit.page.getByRole('menuitem', { name: 'Move this folder…' }).click()
  const form = visit.page.getByRole('dialog', { name: /^Move / })
  await form.getByLabel('Folder').fill(to)
  let ending: Promise<unknown> | undefined
  await visit.page.route(new RegExp(`/${BUCKET}/${to}/`), async route => {
    ending ??= endOnServer()
    await ending
    await route.continue()
  })
  await form.getByRole('button', { name: `Move ${MOVED} objects` }).click()
  await cover().waitFor()
  await visit.page.unroute(new RegExp(`/${BUCKET}/${to}/`))
}

test('a move that lost its session goes on by itself when the same person is back', async () => {
  await moveUntilSessionEnds('goods/', 'store')
  assert((await countBelow('goods/')) > 0)
  await signIn(ROOT)
  await moves().getByText(`${MOVED} of ${MOVED} moved`, { exact: true }).waitFor()
  assert.deepEqual([await countBelow('goods/'), await countBelow('store/')], [0, MOVED])
  await moves().getByRole('button', { name: 'Remove from the list' }).click()
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

/** Requests of the page that change objects, from now on. */
function changesFromNow(): string[] {
  const seen: string[] = []
  visit.page.on('request', request => {
    const isChange = request.method() === 'PUT' || request.method() === 'DELETE'
    if (isChange && request.url().includes(`/${BUCKET}/`)) seen.push(`${request.method()} ${request.url()}`)
  })
  return seen
}

test('a move that lost its session does not go on with the session of another person', async () => {
  await moveUntilSessionEnds('wares/', 'depot')
  const changes = changesFromNow()
  const second = await visit.watched.context.newPage()
  await second.goto(`${visit.world.server.consoleUrl}/buckets`)
  await second.getByLabel('Access key').fill(OWNER.accessKey)
  await second.getByRole('textbox', { name: 'Secret key' }).fill(OWNER.secretKey)
  await second.getByRole('button', { name: 'Sign in', exact: true }).click()
  await second.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
  await second.close()
  await cover().waitFor({ state: 'detached' })
  await button('Account').click()
  await visit.page.getByText(OWNER.accessKey, { exact: true }).waitFor()
  assert.deepEqual(changes, [])
  assert.equal(await moves().count(), 0)
  assert((await countBelow('wares/')) > 0)
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await signIn(ROOT)
  await visit.page.getByRole('heading', { level: 1 }).waitFor()
  assertQuiet(visit.watched, /40[13]/)
})

/** As another tab does it. */
const signInFrom = (tab: Page, key: typeof ROOT): Promise<unknown> =>
  tab.evaluate(`fetch('/v1/session', {
    method: 'POST',
    headers: { 'x-holdfast-console': 'sign-in', 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify(key))},
  })
    .then(response => response.json())
    .then(({ token }) => localStorage.setItem('holdfast-console-token', token))`)

test('an answer about the session of one person opens nothing for the next one', async () => {
  await moveUntilSessionEnds('stock/', 'attic')
  const [first, second] = [ROOT, OWNER].map(key => ({ key, asked: gate(), told: gate() }))
  const left = [first!, second!]
  await visit.page.route('**/v1/session', async route => {
    const question = left.shift()
    if (question === undefined) return route.continue()
    const response = await route.fetch()
    question.asked.open()
    await question.told.opened
    await route.fulfill({ response })
  })
  const other = await visit.watched.context.newPage()
  await other.goto(`${visit.world.server.consoleUrl}/buckets`)
  await other.getByLabel('Access key').waitFor()
  for (const { key, asked } of [...left]) {
    await signInFrom(other, key)
    await asked.opened
  }
  const sent: string[] = []
  visit.page.on('request', request => sent.push(new URL(request.url()).pathname))
  first!.told.open()
  const ROUND_TRIPS = ['/health/live', '/health/live', '/health/live']
  for (const path of ROUND_TRIPS) await visit.page.evaluate(`fetch('${path}')`)
  assert.deepEqual(sent, ROUND_TRIPS)
  second!.told.open()
  await cover().waitFor({ state: 'detached' })
  await other.close()
  await button('Account').click()
  await visit.page.getByText(OWNER.accessKey, { exact: true }).waitFor()
  await visit.page.unroute('**/v1/session')
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await signIn(ROOT)
  await visit.page.getByRole('heading', { level: 1 }).waitFor()
  assertQuiet(visit.watched, /40[13]/)
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
