/** Copies and moves of folders and selections: what is skipped, stopped, refused and tried again. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { Route } from 'playwright-core'
import { ROOT } from '../../cli/program.ts'
import { assertAccessible, assertQuiet, showPage } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { putMany } from '../world.ts'

const BUCKET = 'boxes'
const visit = openConsole()
const { open, button, signIn } = visit

const client = (bucket = BUCKET) => visit.world.client(bucket)
const keysIn = (folder: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${folder}${i}.txt`)
const md5 = (bytes: string | Buffer): string => createHash('md5').update(bytes).digest('base64')
const panel = () => visit.page.getByRole('region', { name: 'Copies and moves' })
const form = () => visit.page.getByRole('dialog', { name: /^(Copy|Move) / })

async function keysBelow(prefix: string, bucket = BUCKET): Promise<string[]> {
  const { body } = await client(bucket).requestOnce({ method: 'GET', query: { 'list-type': '2', prefix } })
  return [...body.toString().matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key!)
}

async function textOf(key: string, bucket = BUCKET): Promise<string> {
  return (await client(bucket).requestOnce({ method: 'GET', key })).body.toString()
}

/** Requests of one method to addresses wait until they are released; resolves `arrived` when the first is there. */
async function holdBack(address: RegExp, method: string) {
  let release = (): void => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  let arrive = (): void => {}
  const arrived = new Promise<void>(resolve => {
    arrive = resolve
  })
  await visit.page.route(address, async (route: Route) => {
    if (route.request().method() === method) {
      arrive()
      await released
    }
    await route.continue()
  })
  return { arrived, release, end: () => visit.page.unroute(address) }
}

test('a folder is copied while other pages are looked at, and names that exist are skipped', async () => {
  await client().requestOnce({ method: 'PUT' })
  await client('shelf').requestOnce({ method: 'PUT' })
  await putMany(client(), keysIn('box/', 29), 'new')
  await putMany(client(), ['box/deep/er.txt'], 'new', [['x-amz-acl', 'public-read']])
  await putMany(client('shelf'), ['all/box/7.txt'], 'old')
  await open(`/buckets/${BUCKET}?prefix=box%2F`)
  await signIn(ROOT)
  await button('More actions on this folder').click()
  await visit.page.getByRole('menuitem', { name: 'Copy this folder…' }).click()
  await form().getByRole('button', { name: 'Copy 30 objects (90 B)' }).waitFor()
  await form().getByText('they are there already').waitFor()
  await form().getByLabel('Folder').fill('box/inside')
  await form().getByText('A folder cannot go into itself.').waitFor()
  for (const nameless of ['/', '/x', 'a//b']) {
    await form().getByLabel('Folder').fill(nameless)
    await form().getByText('A folder needs a name.').waitFor()
  }
  assert(await form().getByRole('button', { name: 'Copy 30 objects' }).isDisabled())
  await form().getByLabel('Bucket').fill('shelf')
  await form().getByLabel('Folder').fill('all')
  await showPage(visit.page, 'copy-many')
  const held = await holdBack(/\/shelf\/all\//, 'PUT')
  await form().getByRole('button', { name: 'Copy 30 objects (90 B)' }).click()
  await held.arrived
  await visit.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Buckets' }).click()
  await visit.page.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
  await panel().getByText('Copying 30 objects to shelf/all/').waitFor()
  held.release()
  await panel().getByText('29 of 30 copied · 1 skipped').waitFor()
  await showPage(visit.page, 'copied-many')
  await held.end()
  assert.equal((await keysBelow('all/', 'shelf')).length, 30)
  assert.equal(await textOf('all/box/7.txt', 'shelf'), 'old')
  assert.equal(await textOf('all/box/deep/er.txt', 'shelf'), 'new')
  const { body } = await client('shelf').requestOnce({ method: 'GET', key: 'all/box/deep/er.txt', query: { acl: '' } })
  assert.doesNotMatch(body.toString(), /AllUsers/)
  assert.equal((await keysBelow('box/')).length, 30)
  await panel().getByRole('button', { name: 'Remove from the list' }).click()
  await panel().waitFor({ state: 'detached' })
  assertQuiet(visit.watched, /412/)
})

test('a selection is moved over what is there, with its ACLs, and leaves nothing behind', async () => {
  await putMany(client(), ['to/one.txt'], 'old')
  await putMany(client(), ['one.txt', 'pile/two.txt'], 'new', [['x-amz-acl', 'public-read']])
  await open(`/buckets/${BUCKET}`)
  await visit.page.getByRole('checkbox', { name: 'Select one.txt' }).check()
  await visit.page.getByRole('checkbox', { name: 'Select pile/' }).check()
  await button('Move…').click()
  await form().getByLabel('Folder').fill('to')
  await form().getByText('Each object is deleted here once its copy is confirmed').waitFor()
  await form().getByText('The grants of ACLs are kept.').waitFor()
  await form().getByRole('radio', { name: 'Replace them' }).check()
  await form().getByText('what is replaced is lost').waitFor()
  await assertAccessible(visit.page)
  await form().getByRole('button', { name: 'Move 2 objects (6 B)' }).click()
  await panel().getByText('2 of 2 moved').waitFor()
  await visit.page.getByRole('link', { name: 'one.txt' }).waitFor({ state: 'detached' })
  assert.deepEqual(await keysBelow('to/'), ['to/one.txt', 'to/pile/two.txt'])
  assert.deepEqual([...(await keysBelow('one')), ...(await keysBelow('pile'))], [])
  assert.equal(await textOf('to/one.txt'), 'new')
  const { body } = await client().requestOnce({ method: 'GET', key: 'to/pile/two.txt', query: { acl: '' } })
  assert.match(body.toString(), /AllUsers/)
  await panel().getByRole('button', { name: 'Remove from the list' }).click()
  assertQuiet(visit.watched)
})

const ENFORCED =
  '<OwnershipControls><Rule><ObjectOwnership>BucketOwnerEnforced</ObjectOwnership></Rule></OwnershipControls>'

test('grants are left behind where ACLs do not apply, and the dialog says so before', async () => {
  const sealed = client('sealed')
  await sealed.requestOnce({ method: 'PUT' })
  const headers = [['content-md5', md5(ENFORCED)]] as const
  await sealed.requestOnce({ method: 'PUT', query: { ownershipControls: '' }, headers, body: Buffer.from(ENFORCED) })
  await putMany(client(), keysIn('open/', 6), 'x', [['x-amz-acl', 'public-read']])
  const openForm = async (kind: 'Copy' | 'Move'): Promise<void> => {
    await open(`/buckets/${BUCKET}?prefix=open%2F`)
    await button('More actions on this folder').click()
    await visit.page.getByRole('menuitem', { name: `${kind} this folder…` }).click()
    await form().getByLabel('Bucket').fill('sealed')
  }
  await openForm('Copy')
  await form().getByText('Access control lists do not apply in that bucket and are not kept').waitFor()
  assert.equal(await form().getByRole('checkbox').count(), 0)
  await form().getByRole('button', { name: 'Copy 6 objects (6 B)' }).click()
  await panel().getByText('6 of 6 copied', { exact: true }).waitFor()
  await removeJob()
  // A caller who may not read the setting learns it from the first object.
  await visit.page.route(/\/v1\/buckets\?name=sealed/, route => route.fulfill({ json: { buckets: [] } }))
  await openForm('Move')
  await form().getByLabel('Folder').fill('moved')
  await form().getByText('The grants of ACLs are kept.').waitFor()
  await form().getByRole('button', { name: 'Move 6 objects (6 B)' }).click()
  await panel().getByText('6 of 6 moved · without ACLs, which do not apply there').waitFor()
  await visit.page.unroute(/\/v1\/buckets\?name=sealed/)
  assert.deepEqual([(await keysBelow('moved/open/', 'sealed')).length, (await keysBelow('open/')).length], [6, 0])
  await removeJob()
  assertQuiet(visit.watched, /400/)
})

test('a copy beside an object of its name gets a number', async () => {
  await putMany(client(), ['both/one.txt'], 'mine')
  await open(`/buckets/${BUCKET}?prefix=both%2F`)
  const copy = async (): Promise<void> => {
    await visit.page.getByRole('checkbox', { name: 'Select one.txt' }).check()
    await button('Copy…').click()
    await form().getByLabel('Folder').fill('to')
    await form().getByRole('radio', { name: 'Keep both' }).check()
    await form().getByRole('button', { name: 'Copy 1 object (4 B)' }).click()
    await panel().getByText('1 of 1 copied').waitFor()
    await panel().getByRole('button', { name: 'Remove from the list' }).click()
    await panel().waitFor({ state: 'detached' })
  }
  await copy()
  await copy()
  assert.deepEqual(await keysBelow('to/one'), ['to/one (2).txt', 'to/one (3).txt', 'to/one.txt'])
  assert.equal(await textOf('to/one (3).txt'), 'mine')
  assertQuiet(visit.watched, /412/)
})

test('a stopped copy ends after the objects on their way, and goes on from there', async () => {
  await putMany(client(), keysIn('many/', 40))
  await open(`/buckets/${BUCKET}`)
  await visit.page.getByRole('checkbox', { name: 'Select many/' }).check()
  await button('Copy…').click()
  await form().getByLabel('Folder').fill('stopped/')
  const held = await holdBack(/\/boxes\/stopped\//, 'PUT')
  await form().getByRole('button', { name: 'Copy 40 objects (40 B)' }).click()
  await held.arrived
  await panel().getByRole('button', { name: 'Stop' }).click()
  held.release()
  await panel()
    .getByText(/ of 40 copied · stopped$/)
    .waitFor()
  await held.end()
  const copied = (await keysBelow('stopped/')).length
  assert(copied > 0 && copied < 40, `${copied} copied`)
  await panel().getByText(`${copied} of 40 copied · stopped`).waitFor()
  await panel().getByRole('button', { name: 'Go on' }).click()
  await panel().getByText('40 of 40 copied').waitFor()
  assert.equal((await keysBelow('stopped/')).length, 40)
  await panel().getByRole('button', { name: 'Remove from the list' }).click()
  assertQuiet(visit.watched)
})

test('a move keeps what is held and what was changed meanwhile, and tries them again', async () => {
  const lock = [['x-amz-bucket-object-lock-enabled', 'true']] as const
  await client('vault').requestOnce({ method: 'PUT', headers: lock })
  await putMany(client('vault'), ['in/free.txt', 'in/raced.txt'], 'first')
  await putMany(client('vault'), ['in/held.txt'], 'held', [
    ['content-md5', md5('held')],
    ['x-amz-object-lock-legal-hold', 'ON'],
  ])
  await open('/buckets/vault?prefix=in%2F')
  await button('More actions on this folder').click()
  await visit.page.getByRole('menuitem', { name: 'Move this folder…' }).click()
  await form().getByLabel('Folder').fill('out')
  const held = await holdBack(/\/vault\/in\/raced\.txt/, 'DELETE')
  await form().getByRole('button', { name: 'Move 3 objects (14 B)' }).click()
  await held.arrived
  await putMany(client('vault'), ['in/raced.txt'], 'second')
  held.release()
  await panel().getByText('1 of 3 moved · 2 failed').waitFor()
  await held.end()
  await panel().getByRole('button', { name: 'Show the failures' }).click()
  const failures = visit.page.getByRole('dialog', { name: '2 objects not moved' })
  await failures.getByRole('listitem').filter({ hasText: 'in/held.txt' }).getByText('It is held or retained').waitFor()
  const raced = failures.getByRole('listitem').filter({ hasText: 'in/raced.txt' })
  await raced.getByText('The copy is there; only the old object could not be deleted.').waitFor()
  await raced.getByText(/^Request [0-9A-F]+$/).waitFor()
  await showPage(visit.page, 'failed-moves')
  await visit.page.keyboard.press('Escape')
  assert.deepEqual(await keysBelow('in/', 'vault'), ['in/held.txt', 'in/raced.txt'])
  assert.deepEqual(await keysBelow('out/', 'vault'), ['out/in/free.txt', 'out/in/raced.txt'])
  assert.equal(await textOf('in/raced.txt', 'vault'), 'second')
  const body = Buffer.from('<LegalHold><Status>OFF</Status></LegalHold>')
  const headers = [['content-md5', md5(body)]] as const
  await client('vault').requestOnce({ method: 'PUT', key: 'in/held.txt', query: { 'legal-hold': '' }, headers, body })
  await panel().getByRole('button', { name: 'Try the failed ones again' }).click()
  await panel().getByText('2 of 3 moved · 1 failed').waitFor()
  assert.deepEqual(await keysBelow('in/', 'vault'), ['in/raced.txt'])
  assert.equal(await textOf('out/in/held.txt', 'vault'), 'held')
  assertQuiet(visit.watched, /412/)
})

/** Opens the dialog for the whole folder and fills in where it goes. */
async function openMove(bucket: string, folder: string, to: string): Promise<void> {
  await open(`/buckets/${bucket}?prefix=${encodeURIComponent(folder)}`)
  await button('More actions on this folder').click()
  await visit.page.getByRole('menuitem', { name: 'Move this folder…' }).click()
  await form().getByLabel('Folder').fill(to)
}

const OPEN_TO_ALL = { 'access-control-allow-origin': '*' }
const REFUSED = { status: 403, headers: OPEN_TO_ALL, body: '<Error><Code>AccessDenied</Code></Error>' }

const removeJob = async (): Promise<void> => {
  await panel().getByRole('button', { name: 'Remove from the list' }).click()
  await panel().waitFor({ state: 'detached' })
}

test('a move deletes nothing on an answer that confirms no copy', async () => {
  await removeJob()
  await putMany(client(), ['cut/short.txt'], 'kept')
  await visit.page.route(/\/boxes\/lost\//, route =>
    route.request().method() === 'PUT'
      ? route.fulfill({ status: 200, headers: OPEN_TO_ALL, body: '<Cut/>' })
      : route.continue(),
  )
  await openMove(BUCKET, 'cut/', 'lost')
  await form().getByRole('button', { name: 'Move 1 object (4 B)' }).click()
  await panel().getByText('0 of 1 moved · 1 failed').waitFor()
  await visit.page.unroute(/\/boxes\/lost\//)
  assert.equal(await textOf('cut/short.txt'), 'kept')
  await panel().getByRole('button', { name: 'Try the failed ones again' }).click()
  await panel().getByText('1 of 1 moved').waitFor()
  assert.deepEqual([await keysBelow('cut/'), await keysBelow('lost/')], [[], ['lost/cut/short.txt']])
  await removeJob()
  assertQuiet(visit.watched)
})

test('objects do not replace each other on their way', async () => {
  await putMany(client(), ['nest/nest/x.txt'], 'upper')
  await putMany(client(), ['nest/nest/nest/x.txt'], 'lower')
  await openMove(BUCKET, 'nest/nest/', '')
  const submit = form().getByRole('button', { name: 'Move 2 objects (10 B)' })
  await form().getByRole('radio', { name: 'Replace them' }).check()
  await form().getByText('Some of them would replace others of them').waitFor()
  assert(await submit.isDisabled())
  await form().getByRole('radio', { name: 'Keep both' }).check()
  await submit.click()
  await panel().getByText('2 of 2 moved').waitFor()
  const texts = await Promise.all((await keysBelow('nest/')).map(key => textOf(key)))
  assert.deepEqual(texts.toSorted(), ['lower', 'upper'])
  await removeJob()
  assertQuiet(visit.watched, /412/)
})

test('a move that goes on copies again what was removed meanwhile', async () => {
  await putMany(client(), ['pack/a.txt'], 'a')
  await openMove(BUCKET, 'pack/', 'sent')
  await visit.page.route(/\/boxes\/pack\/a\.txt/, route =>
    route.request().method() === 'DELETE' ? route.fulfill(REFUSED) : route.continue(),
  )
  await form().getByRole('button', { name: 'Move 1 object (1 B)' }).click()
  await panel().getByText('0 of 1 moved · 1 failed').waitFor()
  await visit.page.unroute(/\/boxes\/pack\/a\.txt/)
  await client().requestOnce({ method: 'DELETE', key: 'sent/pack/a.txt' })
  await panel().getByRole('button', { name: 'Try the failed ones again' }).click()
  await panel().getByText('1 of 1 moved').waitFor()
  assert.deepEqual([await keysBelow('pack/'), await keysBelow('sent/')], [[], ['sent/pack/a.txt']])
  await removeJob()
  assertQuiet(visit.watched, /40[34]/)
})

test('a source that is deleted already counts as moved', async () => {
  await putMany(client(), ['gone/a.txt'], 'a')
  await openMove(BUCKET, 'gone/', 'sent')
  const held = await holdBack(/\/boxes\/gone\/a\.txt/, 'DELETE')
  await form().getByRole('button', { name: 'Move 1 object (1 B)' }).click()
  await held.arrived
  await client().requestOnce({ method: 'DELETE', key: 'gone/a.txt' })
  held.release()
  await panel().getByText('1 of 1 moved').waitFor()
  await held.end()
  assert.equal(await textOf('sent/gone/a.txt'), 'a')
  await removeJob()
  assertQuiet(visit.watched, /404/)
})

test('a move deletes nothing after the person who began it has left', async () => {
  await putMany(client(), ['mine/a.txt'], 'a')
  await openMove(BUCKET, 'mine/', 'yours')
  const held = await holdBack(/\/boxes\/yours\//, 'PUT')
  const deletions: string[] = []
  visit.page.on('request', request => {
    if (request.method() === 'DELETE' && request.url().includes('/boxes/')) deletions.push(request.url())
  })
  await form().getByRole('button', { name: 'Move 1 object (1 B)' }).click()
  await held.arrived
  await button('Account').click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await signIn(ROOT)
  await visit.page.getByRole('heading', { level: 1 }).waitFor()
  const copied = visit.page.waitForResponse(/\/boxes\/yours\//)
  held.release()
  await (await copied).finished()
  await held.end()
  // Reading another folder takes more requests than the deletion would.
  await visit.page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Buckets' }).click()
  await visit.page.getByRole('link', { name: 'vault' }).click()
  await visit.page.getByText('out/').first().waitFor()
  assert.deepEqual(deletions, [])
  assert.equal(await textOf('mine/a.txt'), 'a')
  assertQuiet(visit.watched)
})

test('names of any characters are moved as they are', async () => {
  const names = ['', '/x', 'a b+c%20d', 'grün 日本', '../y', './z', "'(*)!?&#;=,@:$", 'tab\there', 'folder/']
  await putMany(
    client(),
    names.map(name => `odd/${name}`),
    'odd',
  )
  await openMove(BUCKET, 'odd/', 'm+v d')
  await form().getByRole('button', { name: 'Move 9 objects (27 B)' }).click()
  await panel().getByText('9 of 9 moved').waitFor()
  assert.deepEqual(await keysBelow('odd/'), [])
  const texts = await Promise.all(names.map(name => textOf(`m+v d/odd/${name}`)))
  assert.deepEqual(
    texts,
    names.map(() => 'odd'),
  )
  await removeJob()
  assertQuiet(visit.watched)
})
