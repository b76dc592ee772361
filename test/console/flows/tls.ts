/** The console over TLS. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { S3Client } from '../../../src/s3/client.ts'
import { ROOT } from '../../cli/program.ts'
import { FIRST } from '../../workers/certificates.ts'
import { assertQuiet } from '../browser.ts'
import { openConsole } from '../visit.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-console-tls-'))
const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
writeFileSync(cert, FIRST.cert)
writeFileSync(key, FIRST.key, { mode: 0o600 })
const visit = openConsole(['--tls-cert', cert, '--tls-key', key], { context: { ignoreHTTPSErrors: true } })
const { open, button, signIn } = visit
after(() => rmSync(folder, { recursive: true, force: true }))

const TEXT = 'sent over TLS\n'

test('signing in over TLS sets a cookie that only this host can set and only TLS can carry', async () => {
  assert.match(visit.world.server.consoleUrl, /^https:/)
  await open('/buckets')
  await signIn(ROOT)
  await visit.page.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
  const [cookie] = await visit.watched.context.cookies(visit.world.server.consoleUrl)
  const { name, secure, httpOnly, sameSite, path } = cookie!
  assert.match(name, /^__Host-holdfast-session-\d+$/)
  assert.deepEqual(
    { secure, httpOnly, sameSite, path },
    { secure: true, httpOnly: true, sameSite: 'Strict', path: '/' },
  )
  await visit.page.reload()
  await visit.page.getByRole('heading', { name: 'Buckets', level: 1 }).waitFor()
  assertQuiet(visit.watched)
})

test('objects are uploaded, previewed and downloaded over TLS', async () => {
  const endpoint = new URL(visit.world.server.url)
  const client = new S3Client({
    endpoint,
    bucket: 'sealed',
    region: 'us-east-1',
    key: ROOT,
    inFlight: 2,
    ca: FIRST.cert,
  })
  await client.requestOnce({ method: 'PUT' })
  await open('/buckets/sealed')
  const chooser = visit.page.waitForEvent('filechooser')
  await button('Upload files').click()
  await (await chooser).setFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from(TEXT) })
  await visit.page.getByText('1 of 1 file uploaded').waitFor()
  assert.equal((await client.requestOnce({ method: 'GET', key: 'note.txt' })).body.toString(), TEXT)
  client.close()
  await visit.page.getByRole('link', { name: 'note.txt' }).click()
  await visit.page.getByRole('tab', { name: 'Preview' }).click()
  await visit.page.getByText(TEXT.trim()).waitFor()
  const coming = visit.page.waitForEvent('download')
  await button('Download').click()
  assert.equal(readFileSync(await (await coming).path(), 'utf8'), TEXT)
  assertQuiet(visit.watched)
})
