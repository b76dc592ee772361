/** Copies of one object: with other headers, under another name. What is not told to change stays. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertQuiet, showPage } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { OWNER, putMany, READER } from '../world.ts'

const BUCKET = 'copies'
const visit = openConsole()
const { open, button, signIn } = visit

const VERSIONED = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'
const EVERYONE = /groups\/global\/AllUsers/
const ATTRIBUTES = [
  ['content-type', 'text/plain'],
  ['content-language', 'en'],
  ['x-amz-meta-colour', 'red'],
  ['x-amz-tagging', 'kind=page'],
  ['x-amz-acl', 'public-read'],
  ['x-amz-storage-class', 'STANDARD_IA'],
  ['x-amz-server-side-encryption', 'AES256'],
  ['x-amz-website-redirect-location', '/elsewhere'],
] as const

const dialog = (name: string) => visit.page.getByRole('dialog', { name })
const client = (bucket = BUCKET) => visit.world.client(bucket)

async function headersOf(key: string, bucket = BUCKET): Promise<Record<string, unknown>> {
  const headers = [['x-amz-checksum-mode', 'ENABLED']] as const
  return (await client(bucket).read({ method: 'HEAD', key, headers })).response.headers
}

async function aclOf(key: string): Promise<string> {
  return (await client().requestOnce({ method: 'GET', key, query: { acl: '' } })).body.toString()
}

async function tagsOf(key: string): Promise<string[]> {
  const { body } = await client().requestOnce({ method: 'GET', key, query: { tagging: '' } })
  return [...body.toString().matchAll(/<Key>(.*?)<\/Key><Value>(.*?)<\/Value>/g)].map(([, name, value]) => {
    return `${name}=${value}`
  })
}

async function versionsOf(key: string): Promise<number> {
  const { body } = await client().requestOnce({ method: 'GET', query: { versions: '', prefix: key } })
  return [...body.toString().matchAll(/<VersionId>/g)].length
}

async function saveContentType(type: string): Promise<void> {
  await button('Edit headers and metadata').click()
  await dialog('Edit headers and metadata').getByLabel('Content type').fill(type)
  await dialog('Edit headers and metadata').getByRole('button', { name: 'Save' }).click()
}

test('headers and metadata are changed by a new version, which keeps everything else', async () => {
  await client().requestOnce({ method: 'PUT' })
  await client().requestOnce({ method: 'PUT', query: { versioning: '' }, body: Buffer.from(VERSIONED) })
  const sum = createHash('sha256').update('<h1>page</h1>').digest('base64')
  await putMany(client(), ['page.html'], '<h1>page</h1>', [...ATTRIBUTES, ['x-amz-checksum-sha256', sum]])
  const before = await headersOf('page.html')
  await open(`/buckets/${BUCKET}/object?key=page.html`)
  await signIn(ROOT)
  await button('Edit headers and metadata').click()
  const form = dialog('Edit headers and metadata')
  await form.getByText('a new version with these values becomes current').waitFor()
  await form.getByLabel('Content type').fill('text/html; charset=utf-8')
  await form.getByLabel('Cache-Control').fill('max-age=60')
  await form.getByLabel('Content-Language').fill('')
  await form.getByLabel('Value of metadata 1').fill('grün')
  await form.getByRole('button', { name: 'Add metadata' }).click()
  await form.getByLabel('Name of metadata 2').fill('no name')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('"no name" cannot be a name').waitFor()
  await form.getByLabel('Name of metadata 2').fill('owner')
  await form.getByLabel('Value of metadata 2').fill('ann')
  await showPage(visit.page, 'edit-metadata')
  await form.getByRole('button', { name: 'Save' }).click()
  await visit.page.getByText('Headers and metadata saved.').waitFor()
  await visit.page.getByRole('region', { name: 'User metadata' }).getByText('grün').waitFor()
  const after = await headersOf('page.html')
  assert.equal(after['content-type'], 'text/html; charset=utf-8')
  assert.equal(after['cache-control'], 'max-age=60')
  assert.equal(after['content-language'], undefined)
  assert.equal(Buffer.from(String(after['x-amz-meta-colour']), 'latin1').toString(), 'grün')
  assert.equal(after['x-amz-meta-owner'], 'ann')
  const kept = ['etag', 'x-amz-storage-class', 'x-amz-server-side-encryption', 'x-amz-website-redirect-location']
  for (const name of kept) assert.equal(after[name], before[name], name)
  assert.equal(after['x-amz-checksum-sha256'], sum)
  assert.deepEqual(await tagsOf('page.html'), ['kind=page'])
  assert.match(await aclOf('page.html'), EVERYONE)
  assert.equal(await versionsOf('page.html'), 2)
  assertQuiet(visit.watched)
})

test('headers are not changed over a change that the page has not seen', async () => {
  await putMany(client(), ['raced.txt'], 'same bytes', [['x-amz-meta-by', 'me']])
  await open(`/buckets/${BUCKET}/object?key=raced.txt`)
  await visit.page.getByText('10 B (10 bytes)').waitFor()
  await putMany(client(), ['raced.txt'], 'same bytes', [['x-amz-meta-by', 'another']])
  await saveContentType('text/markdown')
  await dialog('Edit headers and metadata').getByText('The object has changed since this page read it').waitFor()
  assert.equal((await headersOf('raced.txt'))['x-amz-meta-by'], 'another')
  assert.equal(await versionsOf('raced.txt'), 2)
  assertQuiet(visit.watched)
})

test('access that was withdrawn while the dialog was open does not come back', async () => {
  await putMany(client(), ['closed.txt'], 'x', [['x-amz-acl', 'public-read']])
  await open(`/buckets/${BUCKET}/object?key=closed.txt`)
  await button('Edit headers and metadata').click()
  const form = dialog('Edit headers and metadata')
  await form.getByText('The bytes, tags, ACL').waitFor()
  const headers = [['x-amz-acl', 'private']] as const
  await client().requestOnce({ method: 'PUT', key: 'closed.txt', query: { acl: '' }, headers })
  await form.getByLabel('Content type').fill('text/plain')
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('The object has changed since this page read it').waitFor()
  assert.doesNotMatch(await aclOf('closed.txt'), EVERYONE)
  assertQuiet(visit.watched)
})

test('without versions the dialog says that the object is replaced', async () => {
  await client('plain-copies').requestOnce({ method: 'PUT' })
  await putMany(client('plain-copies'), ['note.txt'])
  await open('/buckets/plain-copies/object?key=note.txt')
  await button('Edit headers and metadata').click()
  await visit.page.getByText('which replaces it: the bucket keeps no versions').waitFor()
  await dialog('Edit headers and metadata').getByLabel('Content type').fill('text/plain')
  await dialog('Edit headers and metadata').getByRole('button', { name: 'Save' }).click()
  await visit.page.getByText('Headers and metadata saved.').waitFor()
  const after = await headersOf('note.txt', 'plain-copies')
  assert.equal(after['content-type'], 'text/plain')
  assert.equal(after['cache-control'], undefined)
  assertQuiet(visit.watched)
})

/** An object of many copies of another; the bytes exist once. */
async function assemble(key: string, sources: readonly string[], more: readonly (readonly [string, string])[] = []) {
  const created = await client().requestOnce({ method: 'POST', key, query: { uploads: '' }, headers: more })
  const uploadId = /<UploadId>(.*?)</.exec(created.body.toString())![1]!
  const rows: string[] = []
  for (const [i, source] of sources.entries()) {
    const query = { uploadId, partNumber: String(i + 1) }
    const headers = [['x-amz-copy-source', `/${BUCKET}/${source}`]] as const
    const { body } = await client().requestOnce({ method: 'PUT', key, query, headers })
    const etag = /<ETag>(.*?)<\/ETag>/.exec(body.toString())![1]!
    rows.push(`<Part><PartNumber>${i + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
  }
  const body = Buffer.from(`<CompleteMultipartUpload>${rows.join('')}</CompleteMultipartUpload>`)
  await client().requestOnce({ method: 'POST', key, query: { uploadId }, body })
}

test('an object of more than 5 GiB is copied in parts, with its tags and its ACL', async () => {
  await client().requestOnce({ method: 'PUT', key: 'block', body: Buffer.alloc(64 * 2 ** 20, 7) })
  const times = (count: number, key: string) => Array.from({ length: count }, () => key)
  await assemble('gigabyte', times(16, 'block'))
  await assemble('huge', [...times(5, 'gigabyte'), 'block'], ATTRIBUTES)
  await open(`/buckets/${BUCKET}/object?key=huge`)
  await visit.page.getByText(/^5\.1 GiB/).waitFor()
  await saveContentType('application/x-huge')
  await visit.page.getByText('Headers and metadata saved.').waitFor()
  const after = await headersOf('huge')
  assert.equal(after['content-length'], String(5 * 2 ** 30 + 64 * 2 ** 20))
  assert.equal(after['content-type'], 'application/x-huge')
  assert.equal(after['x-amz-meta-colour'], 'red')
  assert.equal(after['x-amz-storage-class'], 'STANDARD_IA')
  assert.deepEqual(await tagsOf('huge'), ['kind=page'])
  assert.match(await aclOf('huge'), EVERYONE)
  const range = [['range', 'bytes=5368709118-5368709121']] as const
  const { body } = await client().requestOnce({ method: 'GET', key: 'huge', headers: range })
  assert.deepEqual([...body], [7, 7, 7, 7])
  const { body: left } = await client().requestOnce({ method: 'GET', query: { uploads: '' } })
  assert.doesNotMatch(left.toString(), /<Upload>/)
  assertQuiet(visit.watched)
})

test('a rename keeps the ACL, a copy only where that is asked for', async () => {
  await putMany(client(), ['open.txt'], 'open', ATTRIBUTES)
  await open(`/buckets/${BUCKET}/object?key=open.txt`)
  const rename = async (to: string, act: 'Rename' | 'Copy', withAcl = false): Promise<void> => {
    await button('Rename or copy').click()
    await dialog('Rename or copy').getByLabel('New name').fill(to)
    if (withAcl) await dialog('Rename or copy').getByLabel('Copy the grants of its ACL, too').check()
    await dialog('Rename or copy').getByRole('button', { name: act, exact: true }).click()
    await visit.page.getByRole('heading', { name: to, level: 1 }).waitFor()
  }
  await rename('renamed.txt', 'Rename')
  assert.match(await aclOf('renamed.txt'), EVERYONE)
  assert.equal((await headersOf('renamed.txt'))['x-amz-storage-class'], 'STANDARD_IA')
  await rename('private.txt', 'Copy')
  assert.doesNotMatch(await aclOf('private.txt'), EVERYONE)
  await open(`/buckets/${BUCKET}/object?key=renamed.txt`)
  await rename('public.txt', 'Copy', true)
  assert.match(await aclOf('public.txt'), EVERYONE)
  assertQuiet(visit.watched)
})

test('a rename whose deletion fails says that the object is under both names', async () => {
  await putMany(client(), ['stays.txt'], 'x')
  await open(`/buckets/${BUCKET}/object?key=stays.txt`)
  const body = '<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'
  const refusal = { status: 403, headers: { 'access-control-allow-origin': '*' }, body }
  await visit.page.route(/\/copies\/stays\.txt/, route =>
    route.request().method() === 'DELETE' ? route.fulfill(refusal) : route.continue(),
  )
  await button('Rename or copy').click()
  await dialog('Rename or copy').getByLabel('New name').fill('goes.txt')
  await dialog('Rename or copy').getByRole('button', { name: 'Rename', exact: true }).click()
  await dialog('Rename or copy').getByText('The object is under both names now').waitFor()
  await visit.page.unroute(/\/copies\/stays\.txt/)
  assert.equal((await headersOf('goes.txt')).etag, (await headersOf('stays.txt')).etag)
  assertQuiet(visit.watched, /403/)
})

test('a held object is renamed only after the dialog said that its hold stays behind', async () => {
  const lock = [['x-amz-bucket-object-lock-enabled', 'true']] as const
  await client('held-copies').requestOnce({ method: 'PUT', headers: lock })
  await putMany(client('held-copies'), ['held.txt'], 'x', [
    ['content-md5', createHash('md5').update('x').digest('base64')],
    ['x-amz-object-lock-legal-hold', 'ON'],
  ])
  await open('/buckets/held-copies/object?key=held.txt')
  await button('Edit headers and metadata').click()
  await visit.page.getByText('Hold and retention belong to the present version').waitFor()
  await visit.page.keyboard.press('Escape')
  await button('Rename or copy').click()
  await dialog('Rename or copy').getByLabel('New name').fill('free.txt')
  await dialog('Rename or copy').getByRole('button', { name: 'Rename', exact: true }).click()
  await dialog('Rename or copy').getByText('The object is held or retained.').waitFor()
  // An object that appears under the new name after this was read is not replaced unasked.
  await putMany(client('held-copies'), ['free.txt'], 'theirs')
  await dialog('Rename or copy').getByRole('button', { name: 'Rename anyway' }).click()
  await dialog('Rename or copy').getByText('An object of this name exists there.').waitFor()
  await client('held-copies').requestOnce({ method: 'DELETE', key: 'free.txt' })
  await dialog('Rename or copy').getByRole('button', { name: 'Replace it' }).click()
  await visit.page.getByRole('heading', { name: 'free.txt', level: 1 }).waitFor()
  assert.equal((await headersOf('free.txt', 'held-copies'))['x-amz-object-lock-legal-hold'], undefined)
  assertQuiet(visit.watched)
})

test('the dialog says whose object it is, and that the new version has another owner', async () => {
  const statement = {
    Effect: 'Allow',
    Principal: { AWS: 'arn:aws:iam::111111111111:root' },
    Action: ['s3:PutObject', 's3:PutObjectAcl'],
    Resource: `arn:aws:s3:::${BUCKET}/*`,
  }
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
  await client().requestOnce({ method: 'PUT', query: { policy: '' }, body: Buffer.from(policy) })
  await putMany(visit.world.client(BUCKET, OWNER), ['theirs.txt'], 'x', [['x-amz-acl', 'bucket-owner-full-control']])
  await open(`/buckets/${BUCKET}/object?key=theirs.txt`)
  await button('Edit headers and metadata').click()
  await visit.page.getByText(/^It belongs to .*What is written now belongs to you/).waitFor()
  // The bucket's owner may not read the tags of another account's object.
  assertQuiet(visit.watched, /403.*tagging/)
})

test('a caller who may not read ACLs or locks is told what is lost, before anything is done', async () => {
  const desk = visit.world.client('desk', OWNER)
  await desk.requestOnce({ method: 'PUT', headers: [['x-amz-bucket-object-lock-enabled', 'true']] })
  await putMany(desk, ['memo.txt'], 'memo')
  const statement = {
    Effect: 'Allow',
    Principal: { AWS: 'arn:aws:iam::111111111111:user/reader' },
    Action: [
      's3:GetObject',
      's3:PutObject',
      's3:DeleteObject',
      's3:GetObjectTagging',
      's3:ListBucket',
      's3:GetBucketVersioning',
    ],
    Resource: ['arn:aws:s3:::desk', 'arn:aws:s3:::desk/*'],
  }
  const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
  await desk.requestOnce({ method: 'PUT', query: { policy: '' }, body: Buffer.from(policy) })
  await open('/buckets')
  await button('Account').click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await open('/buckets/desk/object?key=memo.txt')
  await signIn(READER)
  await button('Edit headers and metadata').click()
  await dialog('Edit headers and metadata').getByText('Its ACL cannot be kept').waitFor()
  await dialog('Edit headers and metadata')
    .getByText(/GetObjectAcl/)
    .waitFor()
  await dialog('Edit headers and metadata').getByLabel('Content type').fill('text/plain')
  await dialog('Edit headers and metadata').getByRole('button', { name: 'Save' }).click()
  await visit.page.getByText('Headers and metadata saved.').waitFor()
  await open('/buckets/desk')
  await visit.page.getByRole('checkbox', { name: 'Select memo.txt' }).check()
  await button('Move…').click()
  await visit.page.getByText(/^You may not see holds and retention.*GetObjectLegalHold/).waitFor()
  await visit.page.getByText(/^The grants of ACLs cannot be kept.*GetObjectAcl/).waitFor()
  assertQuiet(visit.watched, /403/)
})
