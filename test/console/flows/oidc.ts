/** Signing in to the console with OpenID Connect. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { CLIENT, startIssuer, type TestIssuer } from '../../admin/oidc-issuer.ts'
import { assertQuiet, launchBrowser, showPage, type Watched, watchedPage } from '../browser.ts'
import { OWNER, putMany, READER, startWorld, type World } from '../world.ts'

let issuer: TestIssuer
let world: World
let browser: Browser
let watched: Watched

before(async () => {
  issuer = await startIssuer(Date.now)
  issuer.claims = { holdfast_user: '111111111111/reader' }
  const flags = ['--oidc-issuer', issuer.url, '--oidc-client-id', CLIENT.id, '--oidc-name', 'Example']
  world = await startWorld(folder => {
    const file = join(folder, 'client-secret')
    writeFileSync(file, `${CLIENT.secret}\n`)
    return [...flags, '--oidc-client-secret-file', file]
  })
  browser = await launchBrowser()
  watched = await watchedPage(browser, [world.server.url, world.server.consoleUrl, issuer.url])
})
after(async () => {
  await browser?.close()
  await world?.end()
  await issuer?.close()
})

test('a person signs in at the issuer and returns to the page that was asked for', async () => {
  const papers = world.client('papers', OWNER)
  await papers.requestOnce({ method: 'PUT' })
  await putMany(papers, ['draft.txt'], 'draft')
  const { page } = watched
  await page.goto(`${world.server.consoleUrl}/buckets/papers?search=dra`)
  const button = page.getByRole('button', { name: 'Sign in with Example' })
  await button.waitFor()
  await showPage(page, 'sign-in-oidc')
  await button.click()
  await page.getByRole('link', { name: 'draft.txt' }).waitFor()
  assert.equal(page.url(), `${world.server.consoleUrl}/buckets/papers?search=dra`)
  await page.reload()
  await page.getByRole('link', { name: 'draft.txt' }).waitFor()
  await page.getByRole('button', { name: 'Account' }).click()
  await page
    .getByRole('menu')
    .getByText(/reader/)
    .waitFor()
  assert(!(await page.content()).includes(READER.secretKey))
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Holdfast' }).waitFor()
  assertQuiet(watched)
})

test('after the end of a session, the issuer opens in a tab of its own, and the page is kept', async () => {
  const { page, context } = watched
  await page.goto(`${world.server.consoleUrl}/buckets/papers`)
  await page.getByRole('button', { name: 'Sign in with Example' }).click()
  await page.getByRole('checkbox', { name: 'Select draft.txt' }).check()
  await page.evaluate(`fetch('/v1/session', {
    method: 'DELETE',
    headers: { 'x-holdfast-console': localStorage['holdfast-console-token'] },
  })`)
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`)
  const cover = page.getByRole('dialog', { name: 'Your session has ended' })
  const opening = context.waitForEvent('page')
  await cover.getByRole('button', { name: 'Sign in with Example' }).click()
  const tab = await opening
  await tab.getByRole('link', { name: 'draft.txt' }).waitFor()
  await cover.waitFor({ state: 'detached' })
  assert(await page.getByRole('checkbox', { name: 'Select draft.txt' }).isChecked())
  await tab.close()
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Holdfast' }).waitFor()
  assertQuiet(watched, /401/)
})

test('a person without a user is refused, with the reason', async () => {
  issuer.claims = { holdfast_user: '111111111111/nobody' }
  const { page } = watched
  await page.goto(`${world.server.consoleUrl}/buckets`)
  await page.getByRole('button', { name: 'Sign in with Example' }).click()
  await page.getByText(/names no user of this server/).waitFor()
  await page.getByRole('button', { name: 'Sign in with Example' }).waitFor()
  assert.equal(page.url(), `${world.server.consoleUrl}/buckets`)
  assertQuiet(watched, /403/)
})

test('a forged return begins no session', async () => {
  const { page } = watched
  await page.goto(`${world.server.consoleUrl}/sign-in/return?code=forged&state=forged`)
  await page.getByRole('alert').filter({ hasText: 'cancelled or refused' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/')
  assertQuiet(watched, /403/)
})
