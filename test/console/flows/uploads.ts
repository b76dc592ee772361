/** Uploads that are dropped, interrupted and previewed. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Request } from 'playwright-core'
import { ROOT } from '../../cli/program.ts'
import { until as untilSo } from '../../workers/program.ts'
import { assertQuiet, showPage, until } from '../browser.ts'
import { tinyDocument, tinyFilm, tinyPicture, tinySound } from '../tiny-media.ts'
import { openConsole } from '../visit.ts'
import { READER } from '../world.ts'

const BUCKET = 'uploads'
const MEGABYTE = 2 ** 20
const visit = openConsole()
const { open, button, signIn } = visit

const stored = async (key: string): Promise<Buffer> =>
  (await visit.world.client(BUCKET).requestOnce({ method: 'GET', key })).body

function fileOf(name: string, bytes: Buffer): string {
  const path = join(visit.world.folder, name)
  writeFileSync(path, bytes)
  return path
}

function makeFolder(name: string): string {
  const folder = join(visit.world.folder, name)
  mkdirSync(join(folder, 'inner'), { recursive: true })
  writeFileSync(join(folder, 'one.txt'), 'one')
  writeFileSync(join(folder, 'inner', 'two.txt'), 'two')
  return folder
}

/** Drags files and folders over the page as a file manager does, and drops them. */
async function drop(paths: readonly string[]): Promise<void> {
  const protocol = await visit.watched.context.newCDPSession(visit.page)
  const data = { items: [], files: [...paths], dragOperationsMask: 1 }
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await protocol.send('Input.dispatchDragEvent', { type, x: 600, y: 400, data })
    if (type === 'dragOver') await visit.page.getByText(/^Drop to upload to/).waitFor()
  }
  await protocol.detach()
}

async function choose(path: string, named = 'Upload files'): Promise<void> {
  const chooser = visit.page.waitForEvent('filechooser')
  await button(named).click()
  await (await chooser).setFiles(path)
}

test('files and folders that are dropped on the list are uploaded below the folder shown', async () => {
  await visit.world.client(BUCKET).requestOnce({ method: 'PUT' })
  await open(`/buckets/${BUCKET}?prefix=dropped%2F`)
  await signIn(ROOT)
  await visit.page.getByRole('heading', { name: 'This folder is empty' }).waitFor()
  await drop([fileOf('alone.txt', Buffer.from('alone')), makeFolder('album')])
  await visit.page.getByText('3 of 3 files uploaded').waitFor()
  await visit.page.getByRole('link', { name: 'album/' }).waitFor()
  assert.equal((await stored('dropped/alone.txt')).toString(), 'alone')
  assert.equal((await stored('dropped/album/one.txt')).toString(), 'one')
  assert.equal((await stored('dropped/album/inner/two.txt')).toString(), 'two')
  await button('Clear finished').click()
  assertQuiet(visit.watched)
})

test('a folder that is chosen is uploaded with its structure', async () => {
  await open(`/buckets/${BUCKET}`)
  await button('More ways to upload').click()
  const chooser = visit.page.waitForEvent('filechooser')
  await visit.page.getByRole('menuitem', { name: 'Upload a folder' }).click()
  await (await chooser).setFiles(makeFolder('chosen'))
  await visit.page.getByText('2 of 2 files uploaded').waitFor()
  assert.equal((await stored('chosen/inner/two.txt')).toString(), 'two')
  await button('Clear finished').click()
  assertQuiet(visit.watched)
})

test('a lost connection is retried, and the object arrives whole', async () => {
  const bytes = randomBytes(20 * MEGABYTE)
  await open(`/buckets/${BUCKET}`)
  let losses = 0
  await visit.page.route(/partNumber=/, route => (losses++ < 3 ? route.abort('connectionreset') : route.continue()))
  await choose(fileOf('lost.bin', bytes))
  await visit.page.getByText('1 of 1 file uploaded').waitFor()
  await visit.page.unroute(/partNumber=/)
  assert(losses > 3)
  assert((await stored('lost.bin')).equals(bytes))
  await button('Clear finished').click()
  assertQuiet(visit.watched, /net::ERR_/)
})

test('a failed upload shows the reason, what to do, and the request id', async () => {
  const prefix = `${'long'.repeat(255)}/`
  await open(`/buckets/${BUCKET}?prefix=${encodeURIComponent(prefix)}`)
  const refusal = visit.page.waitForResponse(response => response.request().method() === 'PUT')
  await choose(fileOf('too-long.txt', Buffer.from('too long')))
  await visit.page.getByText('0 of 1 file uploaded, 1 failed').waitFor()
  const panel = visit.page.getByRole('region', { name: 'Uploads' })
  await panel.getByText('Failed · Your key is too long').waitFor()
  await panel.getByText('Shorten them, then try again.').waitFor()
  const requestId = (await refusal).headers()['x-amz-request-id']!
  assert(requestId.length > 0)
  await panel.getByText(requestId).waitFor()
  await showPage(visit.page, 'upload-failed')
  await button('Cancel too-long.txt').click()
  assertQuiet(visit.watched, /400/)
})

for (const [size, name] of [[5, 'small'] as const, [20 * MEGABYTE, 'large'] as const]) {
  test(`a ${name} file that is gone before it was read is named as the reason, and not tried again`, async () => {
    await open(`/buckets/${BUCKET}`)
    const path = fileOf(`gone-${name}.bin`, randomBytes(size))
    const presigning = '**/v1/session/presign'
    let goOn = (): void => {}
    const isChosen = new Promise<void>(resolve => {
      goOn = resolve
    })
    await visit.page.route(presigning, route => isChosen.then(() => route.continue()))
    await choose(path)
    rmSync(path)
    goOn()
    await visit.page.getByText(/^Failed · The file cannot be read any more/).waitFor()
    await visit.page.unroute(presigning)
    await button(`Cancel gone-${name}.bin`).click()
    assertQuiet(visit.watched, /net::ERR_/)
  })
}

const partNumberOf = (url: string): string | null => new URL(url).searchParams.get('partNumber')

/** Uploads the file until its first part has arrived, and loads the page again in the middle of the others. */
async function interrupt(path: string): Promise<void> {
  const isHeld = (url: URL): boolean => url.searchParams.has('partNumber') && url.searchParams.get('partNumber') !== '1'
  // Requests that are never answered end with the page.
  await visit.page.route(isHeld, () => {})
  const first = visit.page.waitForResponse(response => partNumberOf(response.url()) === '1' && response.ok())
  await choose(path)
  await first
  await visit.page.getByText(/^Uploading · 8.0 MiB of/).waitFor()
  await visit.page.reload()
  await visit.page.unroute(isHeld)
}

/** The numbers of the parts that are sent until the upload is done. */
async function partsUntilDone(path: string): Promise<(string | null)[]> {
  const sent: (string | null)[] = []
  const note = (request: Request): void => {
    if (request.method() === 'PUT') sent.push(partNumberOf(request.url()))
  }
  visit.page.on('request', note)
  await choose(path)
  await visit.page.getByText('1 of 1 file uploaded').waitFor()
  visit.page.off('request', note)
  await button('Clear finished').click()
  return sent.toSorted()
}

const remembered = (): Promise<unknown> => visit.page.evaluate(`localStorage['holdfast-uploads']`)

test('an upload goes on after the page was loaded again and the file chosen again', async () => {
  const bytes = randomBytes(20 * MEGABYTE)
  const path = fileOf('resumed.bin', bytes)
  await open(`/buckets/${BUCKET}`)
  await interrupt(path)
  await visit.page.getByText('1 upload was interrupted').waitFor()
  assert(!String(await remembered()).includes(ROOT.secretKey))
  await showPage(visit.page, 'upload-interrupted')
  assert.deepEqual(await partsUntilDone(path), ['2', '3'])
  assert((await stored('resumed.bin')).equals(bytes))
  assert.equal(await visit.page.getByText('1 upload was interrupted').count(), 0)
  assert.equal(await remembered(), '[]')
  assertQuiet(visit.watched)
})

test('a part of a file that was changed in the meantime is sent again', async () => {
  const bytes = randomBytes(20 * MEGABYTE)
  const path = fileOf('changed.bin', bytes)
  const time = new Date('2026-01-01T00:00:00Z')
  utimesSync(path, time, time)
  await open(`/buckets/${BUCKET}`)
  await interrupt(path)
  bytes[5]! ^= 1
  fileOf('changed.bin', bytes)
  // The browser sees the same name, size and time.
  utimesSync(path, time, time)
  assert.deepEqual(await partsUntilDone(path), ['1', '2', '3'])
  assert((await stored('changed.bin')).equals(bytes))
  assert.equal(await remembered(), '[]', 'it was the same upload')
  assertQuiet(visit.watched)
})

test('unfinished uploads of a bucket are listed and aborted', async () => {
  await open(`/buckets/${BUCKET}`)
  await interrupt(fileOf('given-up.bin', randomBytes(20 * MEGABYTE)))
  await visit.page.getByText('1 upload was interrupted').waitFor()
  await open(`/buckets/${BUCKET}/settings`)
  await button('Abort the upload of given-up.bin').click()
  await visit.page.getByRole('dialog').getByText('The parts of given-up.bin that arrived are deleted.').waitFor()
  await showPage(visit.page, 'upload-abort')
  await visit.page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
  await visit.page.getByText('There are none.').waitFor()
  const listing = await visit.world.client(BUCKET).requestOnce({ method: 'GET', query: { uploads: '' } })
  assert(!listing.body.toString().includes('<Upload>'))
  assert.equal(await remembered(), '[]')
  assertQuiet(visit.watched)
})

interface WorkerProcess {
  readonly pid: number
  readonly requestsInFlight?: number
}

/** The workers, as the console's page is told. */
const workers = (): Promise<WorkerProcess[]> =>
  visit.page.evaluate(`fetch('/v1/processes', {
    headers: { 'x-holdfast-console': localStorage['holdfast-console-token'] },
  }).then(async response => (await response.json()).processes)`)

test('an upload outlives a worker that is killed in the middle of it', async () => {
  const bytes = randomBytes(40 * MEGABYTE)
  await open(`/buckets/${BUCKET}`)
  const protocol = await visit.watched.context.newCDPSession(visit.page)
  const limit = (uploadThroughput: number) =>
    protocol.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput,
    })
  await protocol.send('Network.enable')
  await limit(2 * MEGABYTE)
  await choose(fileOf('survivor.bin', bytes))
  let serving: WorkerProcess | undefined
  await untilSo('a worker receives the upload', async () => {
    serving = (await workers()).find(({ requestsInFlight = 0 }) => requestsInFlight > 0)
    return serving !== undefined
  })
  assert.notEqual(serving!.pid, visit.world.server.pid)
  process.kill(serving!.pid, 'SIGKILL')
  await limit(-1)
  await visit.page.getByText('1 of 1 file uploaded').waitFor({ timeout: 90_000 })
  assert((await stored('survivor.bin')).equals(bytes))
  assert(!(await workers()).some(({ pid }) => pid === serving!.pid))
  await button('Clear finished').click()
  await protocol.detach()
  assertQuiet(visit.watched, /net::ERR_|50[0-9]/)
})

test('pictures, sounds, films and documents are previewed', async () => {
  const put = (key: string, type: string, body: Buffer) =>
    visit.world.client(BUCKET).requestOnce({ method: 'PUT', key, headers: [['content-type', type]], body })
  await put('picture.png', 'image/png', tinyPicture())
  await put('sound.wav', 'audio/wav', tinySound())
  await put('film.webm', 'video/webm', await tinyFilm(visit.page))
  await put('document.pdf', 'application/pdf', tinyDocument())
  const preview = (key: string) => open(`/buckets/${BUCKET}/object?key=${key}&tab=preview`)
  await preview('picture.png')
  await until(visit.page, `document.querySelector('img[alt*="picture.png"]')?.naturalWidth === 1`)
  await preview('sound.wav')
  await until(visit.page, `document.querySelector('audio')?.duration > 0`)
  await preview('film.webm')
  await until(visit.page, `document.querySelector('video')?.videoWidth === 16`)
  await showPage(visit.page, 'preview-film')
  await preview('document.pdf')
  const link = visit.page.getByRole('link', { name: /PDF/ })
  assert.match((await link.getAttribute('rel')) ?? '', /noopener/)
  const response = await fetch((await link.getAttribute('href'))!)
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), tinyDocument())
  assert.equal(response.headers.get('content-type'), 'application/pdf')
  assertQuiet(visit.watched)
})

test('the next person in a tab does not see what the last one uploaded', async () => {
  await open(`/buckets/${BUCKET}`)
  await choose(fileOf('private.txt', Buffer.from('private')))
  const uploaded = visit.page.getByText('1 of 1 file uploaded')
  await uploaded.waitFor()
  await button('Account').click()
  await visit.page.getByRole('menuitem', { name: 'Sign out' }).click()
  await visit.page.getByRole('heading', { name: 'Sign in to Holdfast' }).waitFor()
  await signIn(READER)
  await button('Account').waitFor()
  assert.equal(await uploaded.count(), 0)
  assertQuiet(visit.watched, /403/)
})
