/** The command palette: every page and the actions that pages begin with, by keyboard alone. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertQuiet, showPage, until } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { OWNER, READER } from '../world.ts'

const BUCKET = 'atlas'
const visit = openConsole()
const { open, button, signIn } = visit

const input = () => visit.page.getByRole('combobox', { name: 'Search and commands' })
const option = (name: string) => visit.page.getByRole('option', { name, exact: true })

async function search(text: string): Promise<void> {
  await visit.page.keyboard.press('Control+k')
  await input().fill(text)
}

/** Finds the command by what a person would type, and runs it. */
async function run(text: string, name: string): Promise<void> {
  await search(text)
  await option(name).waitFor()
  await until(visit.page, `document.querySelector('[role=option][aria-selected=true]')?.textContent === '${name}'`)
  await visit.page.keyboard.press('Enter')
  await input().waitFor({ state: 'detached' })
}

const heading = (name: string) => visit.page.getByRole('heading', { name, level: 1 })

test('every page of a bucket is a few keys away, also those of its rules', async () => {
  const headers = [['x-amz-bucket-object-lock-enabled', 'true']] as const
  await visit.world.client(BUCKET).requestOnce({ method: 'PUT', headers })
  await open('/server')
  await signIn(ROOT)
  await heading('Server').waitFor()
  for (const [typed, name, path] of [
    [`holds ${BUCKET}`, `Holds of ${BUCKET}`, `/buckets/${BUCKET}/holds`],
    [`rules ${BUCKET}`, `Rules of ${BUCKET}`, `/buckets/${BUCKET}/rules`],
    ['lifecycle', `Rules of ${BUCKET}: Lifecycle`, `/buckets/${BUCKET}/rules?kind=lifecycle`],
    [`access to ${BUCKET}`, `Access to ${BUCKET}`, `/buckets/${BUCKET}/access`],
    [`settings ${BUCKET}`, `Settings of ${BUCKET}`, `/buckets/${BUCKET}/settings`],
    [`ledger ${BUCKET}`, `Ledger of ${BUCKET}`, `/ledger/${BUCKET}`],
    [`deleted ${BUCKET}`, `Deleted objects of ${BUCKET}`, `/buckets/${BUCKET}?deleted=yes`],
    ['whole store', 'Ledger of the whole store', '/ledger/_store'],
    ['who may', 'Access: Who may do what', '/access/explain'],
    ['public', 'Access: Public access', '/access/public'],
    ['reader', 'User reader of 111111111111', '/access/accounts/111111111111/users/reader'],
    ['configuration', 'Server: Configuration', '/server/configuration'],
  ] as const) {
    await run(typed, name)
    assert.equal(decodeURIComponent(visit.page.url().slice(visit.world.server.consoleUrl.length)), path)
  }
  assertQuiet(visit.watched)
})

test('what is about the bucket shown comes first, and files are uploaded to the folder shown', async () => {
  await open(`/buckets/${BUCKET}?prefix=maps%2F`)
  await visit.page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  await search('')
  await option(`Upload files to ${BUCKET}/maps/`).waitFor()
  await showPage(visit.page, 'palette-bucket')
  const path = join(visit.world.folder, 'north.txt')
  writeFileSync(path, 'north')
  const chooser = visit.page.waitForEvent('filechooser')
  await input().press('Enter')
  await (await chooser).setFiles(path)
  await visit.page.getByText('1 of 1 file uploaded').waitFor()
  const stored = await visit.world.client(BUCKET).requestOnce({ method: 'GET', key: 'maps/north.txt' })
  assert.equal(stored.body.toString(), 'north')
  await button('Clear finished').click()
  assertQuiet(visit.watched)
})

test('a choice below the edge of the list is scrolled into view, and the theme is changed', async () => {
  await open('/buckets')
  await heading('Buckets').waitFor()
  await search('')
  await option('Create a bucket').waitFor()
  await input().press('ArrowUp')
  await until(
    visit.page,
    `(() => {
    const chosen = document.querySelector('[role=option][aria-selected=true]')
    const list = chosen?.parentElement.getBoundingClientRect()
    const row = chosen?.getBoundingClientRect()
    return chosen === chosen?.parentElement.lastElementChild && row.bottom <= list.bottom + 1
  })()`,
  )
  await visit.page.keyboard.press('Escape')
  await run('dark', 'Dark theme')
  await until(visit.page, `document.documentElement.dataset.mantineColorScheme === 'dark'`)
  await run('system', 'Theme of the system')
  await until(visit.page, `document.documentElement.dataset.mantineColorScheme === 'light'`)
  await run('create account', 'Create an account')
  await visit.page.getByRole('dialog', { name: 'Create an account' }).waitFor()
  await visit.page.keyboard.press('Escape')
  assertQuiet(visit.watched)
})

/** Sends a request to the admin API as the page does. */
const post = (path: string, body: object): Promise<unknown> =>
  visit.page.evaluate(`fetch('${path}', {
    method: 'POST',
    headers: { 'x-holdfast-console': localStorage['holdfast-console-token'], 'content-type': 'application/json' },
    body: ${JSON.stringify(JSON.stringify(body))},
  }).then(answer => { if (!answer.ok) throw new Error(answer.status) })`)

test('buckets that are not loaded and users of any account are found by the server', async () => {
  const names = Array.from({ length: 520 }, (_, i) => `crate-${String(i).padStart(3, '0')}`)
  for (const name of names) await visit.world.client(name).requestOnce({ method: 'PUT' })
  const accounts = Array.from({ length: 55 }, (_, i) => String(222222222200 + i))
  for (const accountId of accounts) await post('/v1/accounts', { accountId })
  await post(`/v1/accounts/${accounts.at(-1)}/users`, { name: 'Farthest' })
  await open('/buckets')
  await heading('Buckets').waitFor()
  await run('rules of 519', 'Rules of crate-519')
  assert.match(visit.page.url(), /\/buckets\/crate-519\/rules$/)
  await run('farth', `User Farthest of ${accounts.at(-1)}`)
  assert.match(visit.page.url(), /\/users\/Farthest$/)
  await search('no such thing')
  await visit.page.getByText('Nothing matches.').waitFor()
  await visit.page.keyboard.press('Escape')
  assertQuiet(visit.watched)
})

test('a restricted user is offered neither what only administrators may do nor what policies refuse', async () => {
  await visit.world.client('papers', OWNER).requestOnce({ method: 'PUT' })
  await run('sign out', 'Sign out')
  await visit.page.getByRole('heading', { name: 'Sign in to Holdfast' }).waitFor()
  await open('/buckets/papers')
  await signIn(READER)
  await heading('papers').waitFor()
  await until(visit.page, `document.querySelector('[aria-disabled="true"]') !== null`)
  await search('')
  await option('Rules of papers').waitFor()
  await option('Create a bucket').waitFor({ state: 'detached' })
  const offered = await visit.page.getByRole('option').allTextContents()
  assert(offered.includes('Access: Who may do what'))
  assert.deepEqual(
    offered.filter(label => /^(Upload|Server|Ledger|Account|User|Create|Start)/.test(label)),
    [],
  )
  assertQuiet(visit.watched, /403/)
})
