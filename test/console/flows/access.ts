/** Accounts, users, keys and their policies. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Locator } from 'playwright-core'
import { ROOT } from '../../cli/program.ts'
import { assertAccessible, assertQuiet, showPage, until } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { OWNER, putMany, READER } from '../world.ts'

const visit = openConsole()
const { open, button, signIn } = visit

const heading = (name: string | RegExp): Locator => visit.page.getByRole('heading', { name })
const dialog = (name: string | RegExp): Locator => visit.page.getByRole('dialog', { name })
const section = (name: string): Locator => visit.page.getByRole('region', { name, exact: true })
const editor = (): Locator => visit.page.getByRole('textbox', { name: 'Policy', exact: true })

/** Replaces the text as a person does: everything is selected and typed over. */
async function write(text: string): Promise<void> {
  await editor().click()
  await visit.page.keyboard.press('Control+a')
  await visit.page.keyboard.insertText(text)
}

/** The code of the error, or OK. */
async function outcome(request: Promise<unknown>): Promise<string> {
  try {
    await request
    return 'OK'
  } catch (error) {
    return String((error as { code?: string }).code)
  }
}

/** The key that the pages create, with its secret. */
const made = { accessKey: '', secretKey: '' }
let account = ''

test('an administrator creates an account and a user in it', async () => {
  await open('/access')
  await signIn(ROOT)
  await visit.page.getByRole('link', { name: '111111111111' }).waitFor()
  await showPage(visit.page, 'accounts')
  await button('Create account').click()
  const creation = dialog('Create an account')
  await creation.getByRole('textbox', { name: 'Name' }).fill('research')
  await showPage(visit.page, 'create-account')
  await creation.getByRole('button', { name: 'Create' }).click()
  await heading('research').waitFor()
  account = new URL(visit.page.url()).pathname.split('/').at(-1)!
  await section('Users').getByText('No users').waitFor()
  await button('Create user').click()
  const user = dialog('Create a user')
  await user.getByLabel('Name').fill('no spaces')
  await user.getByRole('button', { name: 'Create' }).click()
  await user.getByText('Use 1 to 128 letters').waitFor()
  await user.getByLabel('Name').fill('robot')
  await user.getByRole('button', { name: 'Create' }).click()
  await heading('robot').waitFor()
  await section('Policies').getByText('No policies').waitFor()
  await open(`/access/accounts/${account}`)
  await visit.page.getByRole('link', { name: 'robot' }).waitFor()
  await showPage(visit.page, 'account')
  assertQuiet(visit.watched)
})

test('a new key shows its secret once, and signs requests', async () => {
  await visit.page.getByRole('link', { name: 'robot' }).click()
  await button('Create key').click()
  const shown = dialog('The new key')
  made.accessKey = await shown.getByRole('textbox', { name: 'Access key' }).inputValue()
  made.secretKey = await shown.getByRole('textbox', { name: 'Secret key' }).inputValue()
  await showPage(visit.page, 'new-key')
  await visit.page.keyboard.press('Escape')
  await visit.page.mouse.click(5, 400)
  const coming = visit.page.waitForEvent('download')
  await shown.getByRole('button', { name: 'Download as a file' }).click()
  const file = readFileSync(await (await coming).path(), 'utf8')
  assert(file.includes(made.accessKey) && file.includes(made.secretKey) && file.includes(visit.world.server.url))
  await shown.getByRole('button', { name: 'Done' }).click()
  await section('Access keys').getByText(made.accessKey).waitFor()
  assert(!(await visit.page.content()).includes(made.secretKey), 'the secret is gone')
  assert.equal(await outcome(visit.world.client('private', made).requestOnce({ method: 'PUT' })), 'AccessDenied')
  assertQuiet(visit.watched)
})

test('a policy shows its mistakes before it is saved, and what it means', async () => {
  await visit.page.getByRole('link', { name: 'Attach a policy' }).click()
  await visit.page.getByLabel('Name of the policy').fill('work')
  await visit.page.getByLabel('Start from').selectOption('Everything')
  await visit.page.getByText('Allows this user: every action on everything').waitFor()
  await write(
    '{ "Version": "2012-10-17", "Statement": { "Effect": "Allow", "Action": "s3:GetObjct", "Resource": "*" } }',
  )
  await visit.page.getByText('Policy has invalid action: s3:GetObjct').waitFor()
  await until(visit.page, `document.querySelector('.cm-lintRange-error')?.textContent.includes('s3:GetObjct') === true`)
  await button('Review and save').click()
  await visit.page.getByText('Correct the mistakes first').waitFor()
  await showPage(visit.page, 'policy-mistake')
  await visit.page.getByLabel('Start from').selectOption('Read and write below a prefix')
  await visit.page.getByText('Allows this user: ListBucket on BUCKET, only if').waitFor()
  await write('{ "Version": "2012-10-17", "Statement": { "Effect": "Allow", "Action": "s3:*", "Resource": "*" } }')
  await visit.page.getByText('Allows this user: every action on everything').waitFor()
  await button('Review and save').click()
  await dialog('Save this policy?').getByText('New', { exact: true }).waitFor()
  await showPage(visit.page, 'policy-review')
  await dialog('Save this policy?').getByRole('button', { name: 'Save' }).click()
  await section('Policies').getByRole('heading', { name: 'work' }).waitFor()
  assert.equal(await outcome(visit.world.client('private', made).requestOnce({ method: 'PUT' })), 'OK')
  assertQuiet(visit.watched)
})

test('the editor offers actions and condition keys where they fit', async () => {
  await visit.page.getByRole('link', { name: 'Edit work' }).click()
  await write('{ "Version": "2012-10-17", "Statement": { "Effect": "Deny", "Action": "" } }')
  for (let i = 0; i < '" } }'.length; i++) await visit.page.keyboard.press('ArrowLeft')
  await visit.page.keyboard.type('GetObj')
  await visit.page
    .getByRole('option', { name: /^s3:GetObject\b/ })
    .first()
    .waitFor()
  await showPage(visit.page, 'policy-offers')
  await visit.page.keyboard.press('Escape')
  await write('{ "Version": "2012-10-17", "Statement": { "Condition": { "Bool": { "": "false" } } } }')
  for (let i = 0; i < '": "false" } } } }'.length; i++) await visit.page.keyboard.press('ArrowLeft')
  await visit.page.keyboard.type('secure')
  // For a moment after the list appears, Enter still breaks the line.
  await visit.page.getByRole('option', { name: 'aws:SecureTransport' }).click()
  assert.match((await editor().textContent())!, /"aws:SecureTransport": "false"/)
  await visit.page.keyboard.press('Tab')
  assert.equal(await visit.page.evaluate('document.activeElement.closest(".cm-editor") === null'), true)
  assertQuiet(visit.watched)
})

test('a disabled key is refused at once, an enabled one works again, and a rotated one is replaced', async () => {
  const list = (key: typeof made) => outcome(visit.world.client('private', key).requestOnce({ method: 'GET' }))
  const UNKNOWN = 'InvalidAccessKeyId'
  await open(`/access/accounts/${account}/users/robot`)
  await button(`Disable ${made.accessKey}`).click()
  await button(`Enable ${made.accessKey}`).waitFor()
  assert.equal(await list(made), UNKNOWN)
  await showPage(visit.page, 'user')
  await button(`Enable ${made.accessKey}`).click()
  await button(`Disable ${made.accessKey}`).waitFor()
  assert.equal(await list(made), 'OK')
  await button(`Rotate ${made.accessKey}`).click()
  await button('Create the new key').click()
  const shown = dialog('The new key')
  const accessKey = await shown.getByRole('textbox', { name: 'Access key' }).inputValue()
  const secretKey = await shown.getByRole('textbox', { name: 'Secret key' }).inputValue()
  assert.deepEqual([await list(made), await list({ accessKey, secretKey })], ['OK', 'OK'])
  await shown.getByRole('button', { name: `Disable ${made.accessKey} now` }).click()
  await shown.getByText(`${made.accessKey} is disabled`).waitFor()
  await assertAccessible(visit.page)
  await shown.getByRole('button', { name: 'Done' }).click()
  assert.deepEqual([await list(made), await list({ accessKey, secretKey })], [UNKNOWN, 'OK'])
  await button(`Delete ${made.accessKey}`).click()
  await button('Delete the key').click()
  await section('Access keys').getByText(made.accessKey).waitFor({ state: 'detached' })
  Object.assign(made, { accessKey, secretKey })
  assertQuiet(visit.watched)
})

async function signInAs(key: typeof ROOT, path: string): Promise<void> {
  await button('Account').click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await heading('Sign in to Holdfast').waitFor()
  await open(path)
  await signIn(key)
}

const DRAFT = 'papers/draft.txt'
const anonymously = async (): Promise<number> => (await fetch(`${visit.world.server.url}/${DRAFT}`)).status

test('a policy that opens a bucket is saved only after a warning, and everyone sees that it is open', async () => {
  const papers = visit.world.client('papers', OWNER)
  await papers.requestOnce({ method: 'PUT' })
  await putMany(papers, ['draft.txt'], 'draft')
  await signInAs(OWNER, '/buckets/papers/access')
  await section('At a glance').getByText('Closed').waitFor()
  await showPage(visit.page, 'bucket-access')
  await button('Write a policy').click()
  await visit.page.getByLabel('Start from').selectOption('Everyone may read')
  await visit.page.getByRole('alert').filter({ hasText: 'This opens the bucket to everyone' }).waitFor()
  await button('Review and save').click()
  const review = dialog('Save this policy?')
  await review.getByText('Statement 1 allows callers without a key').waitFor()
  await review.getByText('Allows everyone: GetObject on papers/*').waitFor()
  await showPage(visit.page, 'policy-public')
  assert.equal(await anonymously(), 403)
  await review.getByRole('button', { name: 'Save' }).click()
  await visit.page.getByRole('alert').filter({ hasText: 'Open to everyone' }).waitFor()
  assert.equal(await anonymously(), 200)
  await showPage(visit.page, 'bucket-open')
  await open('/access/public')
  await visit.page.getByRole('list', { name: 'Public access' }).getByText('The bucket policy allows').waitFor()
  await showPage(visit.page, 'public-access')
  await visit.page.getByRole('link', { name: 'Review access: papers' }).click()
  await visit.page.getByLabel('Restrict a public policy').check()
  await button('Save the block').click()
  await section('At a glance').getByText('Closed').waitFor()
  assert.equal(await anonymously(), 403)
  assertQuiet(visit.watched)
})

test('grants of a bucket and of an object are changed in a form', async () => {
  const acl = section('ACL of the bucket')
  await acl.getByLabel('Who').selectOption('Everyone, without a key')
  await acl.getByRole('button', { name: 'Add grant' }).click()
  await acl.getByText('Public').waitFor()
  await acl.getByLabel('Show the document').check()
  await visit.page.getByRole('textbox', { name: 'ACL as XML' }).getByText('groups/global/AllUsers').waitFor()
  await acl.getByRole('button', { name: 'Save the ACL' }).click()
  await visit.page.getByRole('alert').filter({ hasText: 'The ACL of the bucket grants' }).waitFor()
  await showPage(visit.page, 'bucket-acl')
  await acl.getByLabel('Show the document').check()
  const document = visit.page.getByRole('textbox', { name: 'ACL as XML' })
  const text = (
    await visit.world.client('papers', OWNER).requestOnce({ method: 'GET', query: { acl: '' } })
  ).body.toString()
  const edit = async (changed: string): Promise<void> => {
    await document.click()
    await visit.page.keyboard.press('Control+a')
    await visit.page.keyboard.insertText(changed)
  }
  await edit(text.replace('>READ<', '>PEEK<'))
  await acl.getByRole('alert').filter({ hasText: 'A permission is one of READ' }).waitFor()
  assert(await acl.getByRole('button', { name: 'Save the ACL' }).isDisabled())
  await edit(text.replace('>READ<', '>READ_ACP<'))
  await acl.getByRole('list').getByText('Read the ACL').waitFor()
  await edit(text)
  assert.equal((await fetch(`${visit.world.server.url}/papers`)).status, 200)
  await button('Remove Read of Everyone, without a key').click()
  await acl.getByRole('button', { name: 'Save the ACL' }).click()
  await section('At a glance').getByText('Closed').waitFor()
  assert.equal((await fetch(`${visit.world.server.url}/papers`)).status, 403)
  await open('/buckets/papers/object?key=draft.txt')
  await button('Show the ACL').click()
  const ofObject = dialog('ACL of the object')
  await ofObject.getByLabel('Who').selectOption('Everyone, without a key')
  await ofObject.getByRole('button', { name: 'Add grant' }).click()
  await showPage(visit.page, 'object-acl')
  await ofObject.getByRole('button', { name: 'Save the ACL' }).click()
  await visit.page.getByText('The ACL was saved.').first().waitFor()
  assert.equal(await anonymously(), 200)
  await open('/buckets/papers/access')
  await visit.page.getByLabel('Bucket owner, ACLs off').check()
  await button('Save the ownership').click()
  await section('ACL of the bucket').getByText('ACLs are off here').waitFor()
  assert.equal(await anonymously(), 403)
  assertQuiet(visit.watched)
})

const DENY_READER = `{
  "Version": "2012-10-17",
  "Statement": [
    {
      "Sid": "PublicRead",
      "Effect": "Allow",
      "Principal": "*",
      "Action": "s3:GetObject",
      "Resource": "arn:aws:s3:::papers/*"
    },
    {
      "Sid": "NotTheReader",
      "Effect": "Deny",
      "Principal": { "AWS": "arn:aws:iam::111111111111:user/reader" },
      "Action": "s3:GetObject",
      "Resource": "arn:aws:s3:::papers/draft.txt"
    }
  ]
}`

const marked = (): Promise<unknown> =>
  visit.page.evaluate(
    `[...document.querySelectorAll('.cm-line[class*="_marked_"]')].map(one => one.textContent).join('')`,
  )

test('the explanation of a refusal marks the deciding statement in the text of the policy', async () => {
  await button('Edit the policy').click()
  await write(DENY_READER)
  await visit.page.getByText('Denies user reader of 111111111111').waitFor()
  await button('Review and save').click()
  await dialog('Save this policy?').getByRole('button', { name: 'Save' }).click()
  await button('Edit the policy').waitFor()
  await signInAs(ROOT, '/access/explain')
  await heading('Ask a question').waitFor()
  await showPage(visit.page, 'explain-form')
  await visit.page.getByRole('combobox', { name: 'Access key or user' }).fill(READER.accessKey)
  await visit.page.getByRole('combobox', { name: 'Action' }).fill('s3:GetObject')
  await visit.page.getByRole('combobox', { name: 'Bucket' }).fill('papers')
  await visit.page.getByLabel('Key of the object').fill('draft.txt')
  await button('Explain').click()
  await visit.page.getByText(`The holder of ${READER.accessKey} may not do s3:GetObject on papers/draft.txt.`).waitFor()
  await visit.page.getByText('Denied by statement 2 “NotTheReader” of the policy of the bucket papers').waitFor()
  await until(visit.page, `document.querySelector('.cm-line[class*="_marked_"]') !== null`)
  const text = String(await marked())
  assert(text.includes('NotTheReader') && !text.includes('PublicRead'), text)
  await showPage(visit.page, 'explain')
  await visit.page.getByRole('combobox', { name: 'Access key or user' }).fill('111111111111/reader')
  await button('Explain').click()
  await visit.page.getByText('The user 111111111111/reader may not do s3:GetObject on papers/draft.txt.').waitFor()
  await visit.page.getByLabel('Anyone, without a key').check()
  await button('Explain').click()
  await visit.page.getByText('Withheld by the public access block of the bucket: RestrictPublicBuckets').waitFor()
  await open(`/access/explain?as=${OWNER.accessKey}&action=s3%3ADeleteObject&bucket=papers&key=draft.txt`)
  await visit.page.getByText('Allowed', { exact: true }).waitFor()
  await visit.page.getByText('The key belongs to the account itself').waitFor()
  assertQuiet(visit.watched)
})

test('a restricted user sees the own access, and what is refused with the reason', async () => {
  await signInAs(READER, '/access')
  await heading('Your access').first().waitFor()
  await section('Your key').getByText(READER.accessKey).waitFor()
  await section('Your policies').getByText('Allows this user: ListAllMyBuckets on everything').waitFor()
  await showPage(visit.page, 'own-access')
  await visit.page.getByRole('link', { name: 'Ask whether you may do something' }).click()
  await visit.page.getByRole('combobox', { name: 'Action' }).fill('s3:PutObject')
  await visit.page.getByRole('combobox', { name: 'Bucket' }).fill('papers')
  await visit.page.getByLabel('Key of the object').fill('draft.txt')
  await button('Explain').click()
  await visit.page.getByText('You may not do s3:PutObject on papers/draft.txt.').waitFor()
  await open('/buckets/papers/access')
  await section('Bucket policy').getByText('You may not read this: it needs s3:GetBucketPolicy.').waitFor()
  await showPage(visit.page, 'bucket-access-refused')
  assert.equal(await button('Write a policy').count(), 0)
  await section('Bucket policy').getByRole('link', { name: 'Why?' }).click()
  await visit.page.getByText('You may not do s3:GetBucketPolicy on papers.').waitFor()
  await visit.page.getByText('Neither a policy of the user nor the bucket policy allows it').waitFor()
  assertQuiet(visit.watched)
})

test('a user and an account are deleted after what that means was said', async () => {
  await visit.world.client('private', made).requestOnce({ method: 'DELETE' })
  await signInAs(ROOT, `/access/accounts/${account}`)
  await button('Delete').click()
  await dialog('Delete account research?').getByRole('button', { name: 'Delete this account' }).click()
  await dialog('Delete account research?').getByRole('alert').waitFor()
  await showPage(visit.page, 'delete-account')
  assertQuiet(visit.watched, /409/)
  await open(`/access/accounts/${account}/users/robot`)
  await button('Delete').click()
  await dialog('Delete user robot?').getByRole('button', { name: 'Delete this user' }).click()
  await section('Users').getByText('No users').waitFor()
  assert.equal(await outcome(visit.world.client('private', made).requestOnce({ method: 'GET' })), 'InvalidAccessKeyId')
  await button('Delete').click()
  await dialog('Delete account research?').getByRole('button', { name: 'Delete this account' }).click()
  await heading('Accounts').waitFor()
  await visit.page.getByRole('link', { name: 'root' }).waitFor()
  assert.equal(await visit.page.getByRole('link', { name: 'research' }).count(), 0)
  assertQuiet(visit.watched)
})
