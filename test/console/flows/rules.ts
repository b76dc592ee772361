/** A person's way through the rules of a bucket. What a form saves is read back with an S3 client. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertAccessible, assertQuiet, showPage } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { OWNER, putMany, READER } from '../world.ts'

const visit = openConsole()
const { open, button, signIn } = visit

const label = (text: string) => visit.page.getByLabel(text, { exact: true })
const editor = (kind: string) => visit.page.getByRole('textbox', { name: `Document: ${kind}` })
const section = (name: string) => visit.page.getByRole('region', { name, exact: true })

/** The notice of an earlier save may still be there, so that it does not tell of this one. */
async function save(meaning?: string): Promise<void> {
  await button('Save').click()
  if (meaning !== undefined) {
    await visit.page.getByRole('dialog', { name: 'Save these rules?' }).getByText(meaning).waitFor()
    await button('Save the rules').click()
  }
  await visit.page.getByText('There are changes that are not saved.').waitFor({ state: 'detached' })
}

/** The document as the server has it, without spaces between elements and without its namespace. */
async function inForce(bucket: string, query: string): Promise<string> {
  const { body } = await visit.world.client(bucket).requestOnce({ method: 'GET', query: { [query]: '' } })
  return body
    .toString()
    .replace(/^<\?xml.*?\?>\s*/, '')
    .replace(/ xmlns="[^"]*"/, '')
    .replace(/>\s+</g, '><')
    .trim()
}

const md5 = (body: string | Buffer): string => createHash('md5').update(body).digest('base64')

const isAbsent = async (bucket: string, query: string): Promise<boolean> => {
  const codes = [
    'NoSuchLifecycleConfiguration',
    'NoSuchCORSConfiguration',
    'NoSuchWebsiteConfiguration',
    'NoSuchTagSet',
  ]
  const asked = { method: 'GET', query: { [query]: '' } } as const
  return (await visit.world.client(bucket).requestIfPresent(asked, ...codes)) === undefined
}

test('every rule is listed with its state, and versioning is turned on', async () => {
  const shop = visit.world.client('shop')
  await shop.requestOnce({ method: 'PUT' })
  await visit.world.client('logs').requestOnce({ method: 'PUT' })
  await open('/buckets/shop')
  await signIn(ROOT)
  await visit.page.getByRole('link', { name: 'Rules', exact: true }).click()
  await visit.page.getByRole('heading', { name: 'Rules of shop', level: 1 }).waitFor()
  await visit.page.getByRole('link', { name: /^Lifecycle/ }).waitFor()
  await showPage(visit.page, 'rules')
  await visit.page.getByRole('link', { name: /^Versioning/ }).click()
  await visit.page.getByText('Overwriting and deleting are final.').waitFor()
  await button('Keep versions').click()
  await visit.page.getByText('Every version is kept').waitFor()
  assert.equal(
    await inForce('shop', 'versioning'),
    '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>',
  )
  await showPage(visit.page, 'rules-versioning')
  assertQuiet(visit.watched)
})

test('a lifecycle rule is made in the form, previewed, saved, turned off and removed', async () => {
  const shop = visit.world.client('shop')
  await putMany(shop, ['logs/one.txt', 'logs/two.txt', 'other.txt'], 'first')
  await putMany(shop, ['logs/one.txt', 'logs/two.txt'], 'second')
  await open('/buckets/shop/rules?kind=lifecycle')
  await visit.page.getByRole('heading', { name: 'Nothing is deleted by age' }).waitFor()
  await showPage(visit.page, 'rules-lifecycle-empty')
  await button('Add a rule').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Lifecycle rule' })
  await dialog.getByLabel('Name', { exact: true }).fill('tidy-logs')
  await dialog.getByLabel('Names that begin with').fill('logs/')
  await dialog.getByLabel('Delete objects', { exact: true }).selectOption('never')
  await dialog.getByLabel('Delete versions that were replaced').check()
  await dialog.getByLabel('Days after they were replaced').fill('30')
  await dialog.getByText('Delete noncurrent versions under logs/ 30 days after they were replaced.').waitFor()
  await showPage(visit.page, 'rules-lifecycle-dialog')
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await label('In days').fill('40')
  await button('Show preview').click()
  await visit.page.getByText('2 actions, 10 B.').waitFor()
  const table = visit.page.getByRole('region', { name: 'What would happen' })
  await table.getByRole('cell', { name: 'logs/one.txt' }).waitFor()
  await table.getByRole('cell', { name: 'logs/two.txt' }).waitFor()
  await showPage(visit.page, 'rules-lifecycle')
  assert(await isAbsent('shop', 'lifecycle'))
  await save('Delete noncurrent versions under logs/ 30 days after they were replaced.')
  const rule = (status: string) =>
    '<LifecycleConfiguration><Rule><ID>tidy-logs</ID><Filter><Prefix>logs/</Prefix></Filter>' +
    `<Status>${status}</Status>` +
    '<NoncurrentVersionExpiration><NoncurrentDays>30</NoncurrentDays></NoncurrentVersionExpiration></Rule>' +
    '</LifecycleConfiguration>'
  assert.equal(await inForce('shop', 'lifecycle'), rule('Enabled'))
  await button('Turn off: tidy-logs').click()
  await save()
  assert.equal(await inForce('shop', 'lifecycle'), rule('Disabled'))
  await button('Remove all rules').click()
  const removal = visit.page.getByRole('dialog', { name: 'Lifecycle' })
  await removal.getByText('Nothing is deleted by age any more.').waitFor()
  await showPage(visit.page, 'rules-remove')
  await removal.getByRole('button', { name: 'Remove all rules' }).click()
  await visit.page.getByRole('heading', { name: 'Nothing is deleted by age' }).waitFor()
  assert(await isAbsent('shop', 'lifecycle'))
  assertQuiet(visit.watched)
})

test('the preview lists locked versions that stay', async () => {
  const vault = visit.world.client('vault')
  await vault.requestOnce({ method: 'PUT', headers: [[':bucket-object-lock-enabled', 'true']] })
  const put = (text: string, hold: 'ON' | 'OFF') =>
    vault.requestOnce({
      method: 'PUT',
      key: 'contract.txt',
      headers: [
        [':object-lock-legal-hold', hold],
        ['content-md5', md5(text)],
      ],
      body: Buffer.from(text),
    })
  await put('first', 'ON')
  await put('second', 'OFF')
  await put('third', 'OFF')
  const document =
    '<LifecycleConfiguration><Rule><Filter><Prefix/></Filter><Status>Enabled</Status><NoncurrentVersionExpiration>' +
    '<NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration></Rule></LifecycleConfiguration>'
  await open('/buckets/vault/rules?kind=lifecycle&view=document')
  await editor('Lifecycle').fill(document)
  await label('In days').fill('5')
  await button('Show preview').click()
  await visit.page.getByText('1 version is locked by a hold or retention and stays.').waitFor()
  await visit.page.getByText('Stays: locked').waitFor()
  await showPage(visit.page, 'rules-preview-locked')
  assertQuiet(visit.watched)
})

test('a document that the server refuses changes nothing and shows its error', async () => {
  const document = Buffer.from(
    '<CORSConfiguration><CORSRule><AllowedOrigin>https://a.example</AllowedOrigin><AllowedMethod>GET</AllowedMethod>' +
      '</CORSRule></CORSConfiguration>',
  )
  const put = { method: 'PUT', query: { cors: '' }, headers: [['content-md5', md5(document)]], body: document } as const
  await visit.world.client('shop').requestOnce(put)
  const before = await inForce('shop', 'cors')
  await open('/buckets/shop/rules?kind=cors&view=document')
  await editor('CORS').getByText('https://a.example').waitFor()
  await editor('CORS').fill('<CORSConfiguration>\n<CORSRule>\n</CORSConfiguration>')
  await visit.page.getByText('This ends an element that is not open here.').first().waitFor()
  await showPage(visit.page, 'rules-malformed')
  await button('Save').click()
  await visit.page.getByRole('alert').filter({ hasText: 'MalformedXML' }).waitFor()
  assertQuiet(visit.watched, /400/)
  await visit.page.getByText('Form', { exact: true }).click()
  await visit.page.getByText('The form cannot show the document.').waitFor()
  await visit.page.getByText('Document', { exact: true }).click()
  await editor('CORS').fill(
    '<CORSConfiguration><CORSRule><AllowedOrigin>*</AllowedOrigin><AllowedMethod>STEAL</AllowedMethod></CORSRule>' +
      '</CORSConfiguration>',
  )
  await button('Save').click()
  await visit.page.getByRole('alert').filter({ hasText: 'STEAL' }).waitFor()
  await showPage(visit.page, 'rules-refused-document')
  assert.equal(await inForce('shop', 'cors'), before)
  await button('Discard changes').click()
  await editor('CORS').getByText('https://a.example').waitFor()
  assertQuiet(visit.watched, /400/)
})

test('a CORS rule is added in the form beside the one there is, and the check applies both', async () => {
  await open('/buckets/shop/rules?kind=cors')
  await button('Add a rule').click()
  const dialog = visit.page.getByRole('dialog', { name: 'CORS rule' })
  await dialog.getByLabel('Origins').fill('https://app.example\nhttps://*.app.example\n')
  await dialog.getByLabel('HEAD', { exact: true }).uncheck()
  await dialog.getByLabel('PUT', { exact: true }).check()
  await dialog.getByLabel('Request headers that pages may send').fill('*')
  await dialog.getByLabel('Response headers that pages may read').fill('ETag')
  await dialog.getByLabel('Browsers may remember the answer (seconds)').fill('600')
  await dialog.getByLabel('Name', { exact: true }).fill('app')
  await showPage(visit.page, 'rules-cors-dialog')
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await label('Origin of the page').fill('https://eu.app.example')
  await label('Method').selectOption('PUT')
  await visit.page.getByText('Allowed, by app.').waitFor()
  await label('Method').selectOption('DELETE')
  await visit.page.getByText('Not allowed: no rule names this origin, this method').waitFor()
  await save()
  assert.equal(
    await inForce('shop', 'cors'),
    '<CORSConfiguration><CORSRule><AllowedOrigin>https://a.example</AllowedOrigin><AllowedMethod>GET</AllowedMethod>' +
      '</CORSRule><CORSRule><ID>app</ID><AllowedOrigin>https://app.example</AllowedOrigin>' +
      '<AllowedOrigin>https://*.app.example</AllowedOrigin><AllowedMethod>GET</AllowedMethod>' +
      '<AllowedMethod>PUT</AllowedMethod><AllowedHeader>*</AllowedHeader><ExposeHeader>ETag</ExposeHeader>' +
      '<MaxAgeSeconds>600</MaxAgeSeconds></CORSRule></CORSConfiguration>',
  )
  await showPage(visit.page, 'rules-cors')
  await button('Remove rule: Rule 1').click()
  await button('Remove rule: app').click()
  await button('Save').click()
  await visit.page.getByRole('dialog', { name: 'CORS' }).getByRole('button', { name: 'Remove all rules' }).click()
  await visit.page.getByText('Removed: CORS.').waitFor()
  assert(await isAbsent('shop', 'cors'))
  assertQuiet(visit.watched)
})

test('a website is set up in the form, and routing rules in the document are kept', async () => {
  await open('/buckets/shop/rules?kind=website')
  await button('Set up a website').click()
  await label('Error document').fill('.html')
  await label('Error document').press('Home')
  await label('Error document').pressSequentially('404')
  await save()
  const pages =
    '<IndexDocument><Suffix>index.html</Suffix></IndexDocument><ErrorDocument><Key>404.html</Key></ErrorDocument>'
  assert.equal(await inForce('shop', 'website'), `<WebsiteConfiguration>${pages}</WebsiteConfiguration>`)
  const routing =
    '<RoutingRules><RoutingRule><Condition><KeyPrefixEquals>old/</KeyPrefixEquals></Condition><Redirect>' +
    '<ReplaceKeyPrefixWith>new/</ReplaceKeyPrefixWith></Redirect></RoutingRule></RoutingRules>'
  await visit.page.getByText('Document', { exact: true }).click()
  await editor('Website').fill(`<WebsiteConfiguration>${pages}${routing}</WebsiteConfiguration>`)
  await visit.page.getByText('Form', { exact: true }).click()
  await visit.page.getByText('1 routing rule in the document.').waitFor()
  await label('Index document').fill('start.html')
  await save()
  assert.equal(
    await inForce('shop', 'website'),
    `<WebsiteConfiguration>${pages.replace('index.html', 'start.html')}${routing}</WebsiteConfiguration>`,
  )
  const { port } = new URL(visit.world.server.url)
  await visit.page.getByRole('link', { name: `http://shop.website.localhost:${port}/`, exact: true }).waitFor()
  await showPage(visit.page, 'rules-website')
  assertQuiet(visit.watched)
})

test('default encryption and tags are set in their forms', async () => {
  await open('/buckets/shop/rules?kind=encryption')
  await button('Set a default').click()
  await label('Encrypt new objects with').selectOption('AES256')
  await label('Refuse objects that are encrypted with a key of the client (SSE-C)').check()
  await save()
  assert.equal(
    await inForce('shop', 'encryption'),
    '<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm>' +
      '</ApplyServerSideEncryptionByDefault><BlockedEncryptionTypes><EncryptionType>SSE-C</EncryptionType>' +
      '</BlockedEncryptionTypes></Rule></ServerSideEncryptionConfiguration>',
  )
  await showPage(visit.page, 'rules-encryption')
  await open('/buckets/shop/rules?kind=tags')
  await button('Add tags').click()
  await label('Name of tag 1').fill('team')
  await label('Value of tag 1').fill('a + b')
  await button('Add a tag').click()
  await label('Name of tag 2').fill('cost:centre')
  await save()
  assert.equal(
    await inForce('shop', 'tagging'),
    '<Tagging><TagSet><Tag><Key>team</Key><Value>a + b</Value></Tag><Tag><Key>cost:centre</Key><Value></Value></Tag>' +
      '</TagSet></Tagging>',
  )
  await showPage(visit.page, 'rules-tags')
  assertQuiet(visit.watched)
})

test('the access log goes to a bucket that lets it be delivered', async () => {
  await open('/buckets/shop/rules?kind=logging')
  await button('Log requests').click()
  await label('Write the log into').selectOption('logs')
  await label('Begin the names with').fill('shop/')
  await button('Save').click()
  await visit.page.getByRole('alert').filter({ hasText: 'InvalidTargetBucketForLogging' }).waitFor()
  await showPage(visit.page, 'rules-logging')
  assertQuiet(visit.watched, /400/)
  await visit.page.getByRole('link', { name: 'Open the policy of logs' }).waitFor()
  const statement = JSON.parse(await section('Access log').locator('pre').innerText())
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
  await visit.world.client('logs').requestOnce({ method: 'PUT', query: { policy: '' }, body: Buffer.from(policy) })
  await save()
  assert.equal(
    await inForce('shop', 'logging'),
    '<BucketLoggingStatus><LoggingEnabled><TargetBucket>logs</TargetBucket><TargetPrefix>shop/</TargetPrefix>' +
      '</LoggingEnabled></BucketLoggingStatus>',
  )
  await button('Stop logging').click()
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Stop logging' }).click()
  await visit.page.getByRole('heading', { name: 'Requests are not logged' }).waitFor()
  assert.equal(await inForce('shop', 'logging'), '<BucketLoggingStatus></BucketLoggingStatus>')
  assertQuiet(visit.watched)
})

test('Object Lock is turned on with a default retention after it was said what that means', async () => {
  await open('/buckets/logs/rules?kind=lock')
  await visit.page.getByText('Turn versioning on first.').waitFor()
  assert.equal(await button('Turn on Object Lock').count(), 0)
  await open('/buckets/shop/rules?kind=lock')
  await button('Turn on Object Lock').click()
  await label('Retain new versions').selectOption('COMPLIANCE')
  await label('For this long').fill('2')
  await label('Unit').selectOption('Years')
  await showPage(visit.page, 'rules-lock')
  await button('Save').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Before you save' })
  await dialog.getByText('Object Lock cannot be turned off again').waitFor()
  await dialog.getByText('every new version is retained for 2 years. Nobody can delete it earlier').waitFor()
  await showPage(visit.page, 'rules-lock-confirm')
  await dialog.getByRole('button', { name: 'I understand, save' }).click()
  await visit.page.getByText('Saved: Object Lock.').waitFor()
  assert.equal(
    await inForce('shop', 'object-lock'),
    '<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention>' +
      '<Mode>COMPLIANCE</Mode><Years>2</Years></DefaultRetention></Rule></ObjectLockConfiguration>',
  )
  await visit.page.getByRole('link', { name: 'All rules' }).click()
  await visit.page.getByRole('link', { name: /^Object Lock.*730 days, compliance$/ }).waitFor()
  assertQuiet(visit.watched)
})

test('elements that the form does not know are named, and stay when another rule is edited', async () => {
  const known =
    '<Rule><ID>known</ID><Filter><Prefix>a/</Prefix></Filter><Status>Enabled</Status>' +
    '<Expiration><Days>1</Days></Expiration></Rule>'
  const transition =
    '<Rule><ID>moved</ID><Filter><Prefix>b/</Prefix></Filter><Status>Enabled</Status><Transition><Days>30</Days>' +
    '<StorageClass>GLACIER</StorageClass></Transition></Rule>'
  await open('/buckets/logs/rules?kind=lifecycle&view=document')
  await editor('Lifecycle').fill(`<LifecycleConfiguration>${known}${transition}</LifecycleConfiguration>`)
  await visit.page.getByText('Form', { exact: true }).click()
  await visit.page.getByText('The document has Transition, which the form does not show.').waitFor()
  assert.equal(await button('Edit: moved').count(), 0)
  await visit.page.getByRole('link', { name: 'All rules' }).click()
  await visit.page.getByRole('link', { name: /^Lifecycle.*Not set$/ }).click()
  await visit.page.getByText('There are changes that are not saved.').waitFor()
  await button('Edit: known').click()
  const dialog = visit.page.getByRole('dialog', { name: 'Lifecycle rule' })
  await dialog.getByLabel('Days', { exact: true }).fill('2')
  await assertAccessible(visit.page)
  await dialog.getByRole('button', { name: 'Apply' }).click()
  await showPage(visit.page, 'rules-unknown')
  await save('moved: as its document says.')
  assert.equal(
    await inForce('logs', 'lifecycle'),
    `<LifecycleConfiguration>${known.replace('<Days>1', '<Days>2')}${transition}</LifecycleConfiguration>`,
  )
  assertQuiet(visit.watched)
})

test('a user who may read a document and not change it sees the reason at the button', async () => {
  const statement = {
    Effect: 'Allow',
    Principal: { AWS: 'arn:aws:iam::111111111111:user/reader' },
    Action: ['s3:GetBucketTagging'],
    Resource: 'arn:aws:s3:::papers',
  }
  const papers = visit.world.client('papers', OWNER)
  await papers.requestOnce({ method: 'PUT' })
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
  await papers.requestOnce({ method: 'PUT', query: { policy: '' }, body: Buffer.from(policy) })
  const tags = Buffer.from('<Tagging><TagSet><Tag><Key>team</Key><Value>search</Value></Tag></TagSet></Tagging>')
  const headers = [['content-md5', md5(tags)]] as const
  await papers.requestOnce({ method: 'PUT', query: { tagging: '' }, headers, body: tags })
  await open('/buckets')
  await button('Account').click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await signIn(READER)
  await visit.page.getByRole('link', { name: 'papers' }).click()
  await visit.page.getByRole('link', { name: 'Rules', exact: true }).click()
  await visit.page.getByRole('link', { name: /^Tags.*Set$/ }).click()
  assert(await label('Name of tag 1').isDisabled())
  assert.equal(await label('Value of tag 1').inputValue(), 'search')
  await button('Save').hover()
  await visit.page.getByRole('tooltip').filter({ hasText: 's3:PutBucketTagging' }).waitFor()
  await showPage(visit.page, 'rules-not-changeable')
  assertQuiet(visit.watched)
})

test('settings that a user may not read are shown as such, with the reason', async () => {
  await open('/buckets/papers/rules')
  await visit.page.getByRole('link', { name: /^Lifecycle.*Not readable$/ }).click()
  await visit.page.getByText('You may not read this').waitFor()
  await visit.page.getByRole('note').filter({ hasText: 's3:GetLifecycleConfiguration' }).waitFor()
  await showPage(visit.page, 'rules-not-readable')
  await open('/buckets/papers/rules?kind=versioning')
  const turnOn = button('Keep versions')
  await turnOn.and(visit.page.locator('[aria-disabled="true"]')).hover()
  await visit.page.getByRole('tooltip').filter({ hasText: 'PutBucketVersioning' }).waitFor()
  assertQuiet(visit.watched)
})
