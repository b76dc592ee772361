/** Changes of objects: what they name before they are done, and what interrupts them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertAccessible, assertQuiet, until } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { putMany } from '../world.ts'

const BUCKET = 'changes'
const visit = openConsole()
const { open, button, signIn } = visit

const VERSIONED = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'

async function versionsOf(key: string): Promise<number> {
  const query = { versions: '', prefix: key }
  const { body } = await visit.world.client(BUCKET).requestOnce({ method: 'GET', query })
  return [...body.toString().matchAll(/<VersionId>/g)].length
}

async function keysBelow(prefix: string): Promise<string[]> {
  const query = { 'list-type': '2', prefix }
  const { body } = await visit.world.client(BUCKET).requestOnce({ method: 'GET', query })
  return [...body.toString().matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key!)
}

test('a deletion names what was selected, and stops after the batch that is on its way', async () => {
  await visit.world.client(BUCKET).requestOnce({ method: 'PUT' })
  await putMany(
    visit.world.client(BUCKET),
    Array.from({ length: 1001 }, (_, i) => `doomed/${String(i).padStart(4, '0')}`),
  )
  await open(`/buckets/${BUCKET}`)
  await signIn(ROOT)
  await visit.page.getByRole('checkbox', { name: 'Select doomed/' }).check()
  await button('Delete').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Delete 1 entry?' })
  await dialog.getByRole('listitem').getByText('doomed/', { exact: true }).waitFor()
  let release = (): void => {}
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  await visit.page.route(/[?&]delete=/, async route => {
    await held
    await route.continue()
  })
  await button('Delete 1,001 objects').click()
  await dialog.getByText('0 of 1,001 deleted').waitFor()
  await dialog.getByRole('button', { name: 'Stop' }).click()
  release()
  await visit.page.getByText('1,000 objects deleted.').waitFor()
  assert.deepEqual(await keysBelow('doomed/'), ['doomed/1000'])
  await visit.page.unroute(/[?&]delete=/)
  assertQuiet(visit.watched)
})

test('a download of a deleted object reports that and stays on the page', async () => {
  await putMany(visit.world.client(BUCKET), ['going.txt'])
  await open(`/buckets/${BUCKET}/object?key=going.txt`)
  await visit.page.getByText('1 B (1 bytes)').waitFor()
  // Everything else that the page reads of the object is there, too.
  await button('Edit tags').waitFor()
  await visit.world.client(BUCKET).requestOnce({ method: 'DELETE', key: 'going.txt' })
  await button('Download').click()
  await visit.page.getByText('There is no such object.').waitFor()
  await visit.page.getByText(/^Request [0-9A-F]+$/).waitFor()
  await visit.page.getByRole('heading', { name: 'going.txt', level: 1 }).waitFor()
  assertQuiet(visit.watched, /404/)
})

test('a double click copies once and makes one version current', async () => {
  const client = visit.world.client(BUCKET)
  await client.requestOnce({ method: 'PUT', query: { versioning: '' }, body: Buffer.from(VERSIONED) })
  await putMany(client, ['twice.txt'], 'old')
  await putMany(client, ['twice.txt'], 'new')
  await open(`/buckets/${BUCKET}/object?key=twice.txt&tab=versions`)
  await button('Make current').click()
  const question = visit.page.getByRole('dialog', { name: 'Make this version current?' })
  await question.getByRole('button', { name: 'Make current' }).dblclick()
  await visit.page.getByText('The old version is current again').waitFor()
  await visit.page.getByRole('list', { name: 'Versions, newest first' }).getByRole('listitem').nth(2).waitFor()
  assert.equal(await versionsOf('twice.txt'), 3)
  await button('Rename or copy').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Rename or copy' })
  await dialog.getByLabel('New name').fill('copied.txt')
  await dialog.getByRole('button', { name: 'Copy' }).dblclick()
  await visit.page.getByRole('heading', { name: 'copied.txt', level: 1 }).waitFor()
  assert.equal(await versionsOf('copied.txt'), 1)
  assertQuiet(visit.watched)
})

/** Makes the version current that holds this text, and tells whether everybody may read the object then. */
async function makeCurrent(key: string, row: number, said: string): Promise<boolean> {
  await open(`/buckets/${BUCKET}/object?key=${key}&tab=versions`)
  const rows = visit.page.getByRole('list', { name: 'Versions, newest first' }).getByRole('listitem')
  await rows.nth(row).getByRole('button', { name: 'Make current' }).click()
  const question = visit.page.getByRole('dialog', { name: 'Make this version current?' })
  await question.getByText(said).waitFor()
  await question.getByRole('button', { name: 'Make current' }).click()
  await question.waitFor({ state: 'detached' })
  const { body } = await visit.world.client(BUCKET).requestOnce({ method: 'GET', key, query: { acl: '' } })
  return body.toString().includes('AllUsers')
}

test('an old version that becomes current gets the access of the current one, not its own', async () => {
  const client = visit.world.client(BUCKET)
  const everybody = [['x-amz-acl', 'public-read']] as const
  await putMany(client, ['withdrawn.txt'], 'old', everybody)
  await putMany(client, ['withdrawn.txt'], 'new')
  const kept = 'It gets the access control list of the version that is current now'
  assert.equal(await makeCurrent('withdrawn.txt', 1, kept), false)
  await putMany(client, ['published.txt'], 'old')
  await putMany(client, ['published.txt'], 'new', everybody)
  assert.equal(await makeCurrent('published.txt', 1, kept), true)
  await putMany(client, ['removed.txt'], 'old', everybody)
  await client.requestOnce({ method: 'DELETE', key: 'removed.txt' })
  assert.equal(await makeCurrent('removed.txt', 1, 'There is no current version now'), false)
  const { body } = await client.requestOnce({ method: 'GET', key: 'removed.txt' })
  assert.equal(body.toString(), 'old')
  assertQuiet(visit.watched)
})

test('a rename is sent by the Enter key', async () => {
  await button('Rename or copy').click()
  await visit.page.getByLabel('New name').fill('//entered.txt')
  await visit.page.getByText('A folder needs a name.').waitFor()
  assert(await button('Rename').isDisabled())
  await visit.page.getByLabel('New name').fill('entered.txt')
  await visit.page.keyboard.press('Enter')
  await visit.page.getByRole('heading', { name: 'entered.txt', level: 1 }).waitFor()
  assert.deepEqual(await keysBelow('entered'), ['entered.txt'])
  assertQuiet(visit.watched)
})

test('an empty object says so in its preview', async () => {
  await putMany(visit.world.client(BUCKET), ['empty.txt'], '')
  await open(`/buckets/${BUCKET}/object?key=empty.txt&tab=preview`)
  await visit.page.getByText('This object is empty').waitFor()
  assertQuiet(visit.watched)
})

test('a long name leaves room on a phone, and can be read whole', async () => {
  const name = 'long-'.repeat(180)
  await putMany(visit.world.client(BUCKET), [`${name}/${name}`.slice(0, 1000)])
  await visit.page.setViewportSize({ width: 360, height: 740 })
  await open(`/buckets/${BUCKET}/object?key=${`${name}/${name}`.slice(0, 1000)}`)
  const heading = visit.page.getByRole('heading', { level: 1 })
  await visit.page.getByText('1 B (1 bytes)').waitFor()
  await open(`/buckets/${BUCKET}?prefix=${name}%2F`)
  await button('Show the whole name').waitFor()
  const height = async (): Promise<number> => (await heading.boundingBox())!.height
  assert((await height()) < 150, `${await height()} pixels`)
  await assertAccessible(visit.page)
  await button('Show the whole name').click()
  await button('Show less of the name').waitFor()
  assert((await height()) > 300, `${await height()} pixels`)
  await button('Show less of the name').click()
  await button('Show the whole name').waitFor()
  await visit.page.setViewportSize({ width: 1280, height: 800 })
  assertQuiet(visit.watched)
})

test('the file for a zip is asked for before the folder is listed', async () => {
  await putMany(visit.world.client(BUCKET), ['zipped/a.txt', 'zipped/b.txt'])
  await open(`/buckets/${BUCKET}`)
  await visit.page.getByRole('checkbox', { name: 'Select zipped/' }).check()
  await visit.page.evaluate(`window.showSaveFilePicker = async () => {
    window.hasAsked = true
    throw new DOMException('dismissed', 'AbortError')
  }`)
  const listings: string[] = []
  visit.page.on('request', request => {
    if (/list-type=2/.test(request.url())) listings.push(request.url())
  })
  await button('Download as zip').click()
  await until(visit.page, 'window.hasAsked === true')
  await visit.page.getByRole('button', { name: 'Download as zip', disabled: false }).waitFor()
  assert.deepEqual(listings, [])
  assertQuiet(visit.watched)
})
