/** The console of a server with several workers: presigned requests of its page reach the object API. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromPage, type SignedInPage, signedInPage } from '../admin/console-fixture.ts'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, type Program, ROOT, until, withProgram } from './program.ts'

/** Keys that URLs, browsers or signatures treat in a special way. */
const KEYS = ['plain.txt', 'a b+c&d=e?f#g%25', 'Grüße/日本.txt', '../up', 'a/./b/../c', '<img src=x>"\'', '~*()!\u202e']

function consolePort({ out }: Program): number {
  const port = /console http:\/\/127\.0\.0\.1:(\d+)/.exec(out)?.[1]
  assert(port !== undefined, out)
  return Number(port)
}

interface Wanted {
  readonly method: string
  readonly bucket?: string
  readonly key?: string
  readonly query?: Record<string, string>
  readonly headers?: Record<string, string>
}

/** Presigns a request and sends it as a browser does. */
async function sendPresigned(page: SignedInPage, port: number, wanted: Wanted, body?: string): Promise<Response> {
  const answer = await page.ask({ method: 'POST', path: '/v1/session/presign', body: { requests: [wanted] } })
  assert.equal(answer.status, 200, answer.text)
  const [presigned] = answer.json().requests as { url: string; method: string; headers: Record<string, string> }[]
  const { url, method, headers } = presigned!
  const origin = fromPage(port, '').origin!
  return fetch(url, { method, headers: { ...headers, origin }, ...(body === undefined ? {} : { body }) })
}

test('presigned requests write, read, list and delete, on every worker', () =>
  withFolder(folder =>
    withProgram(
      folder,
      async program => {
        const port = consolePort(program)
        const page = await signedInPage({ port }, ROOT)
        const own = `http://127.0.0.1:${port}`
        for (const key of KEYS) {
          const tagged = { 'content-type': 'text/plain', 'x-amz-meta-note': 'Grüße' }
          const put = await sendPresigned(page, port, { method: 'PUT', bucket: BUCKET, key, headers: tagged }, key)
          assert.deepEqual([put.status, put.headers.get('access-control-allow-origin')], [200, own], key)
          const got = await sendPresigned(page, port, { method: 'GET', bucket: BUCKET, key })
          assert.equal(await got.text(), key)
          const note = Buffer.from(got.headers.get('x-amz-meta-note')!, 'latin1').toString()
          assert.equal(note, 'Grüße')
        }
        const query = { 'list-type': '2', 'encoding-type': 'url', prefix: 'Grüße/' }
        const listed = await sendPresigned(page, port, { method: 'GET', bucket: BUCKET, query })
        assert.match(await listed.text(), /<KeyCount>1<\/KeyCount>/)
        const buckets = await sendPresigned(page, port, { method: 'GET' })
        assert.match(await buckets.text(), new RegExp(`<Name>${BUCKET}</Name>`))
        const gone = await sendPresigned(page, port, { method: 'DELETE', bucket: BUCKET, key: 'plain.txt' })
        assert.equal(gone.status, 204)
        await replaceWorkers(program)
        const again = await sendPresigned(page, port, { method: 'GET', bucket: BUCKET, key: 'plain.txt' })
        assert.deepEqual([again.status, again.headers.get('access-control-allow-origin')], [404, own])
      },
      '--console',
      '127.0.0.1:0',
    ),
  ))

/** A worker that replaces another knows the console as well. */
async function replaceWorkers(program: Program): Promise<void> {
  const before = program.workers()
  for (const worker of before) process.kill(worker, 'SIGKILL')
  await until('other workers serve', async () => {
    const now = program.workers()
    return now.length === before.length && now.every(worker => !before.includes(worker))
  })
  await until('they listen', async () => {
    const answer = await fetch(`http://127.0.0.1:${consolePort(program)}/health/ready`)
    await answer.arrayBuffer()
    return answer.status === 200
  })
}

test('processes and settings of the running server are shown, secrets are not', () =>
  withFolder(folder =>
    withProgram(
      folder,
      async program => {
        const page = await signedInPage({ port: consolePort(program) }, ROOT)
        const { processes } = (await page.ask({ path: '/v1/processes' })).json() as { processes: { pid: number }[] }
        assert.deepEqual(
          processes.map(({ pid }) => pid).sort((a, b) => a - b),
          program.workers().sort((a, b) => a - b),
        )
        const answer = await page.ask({ path: '/v1/settings' })
        const { settings } = answer.json() as { settings: Record<string, unknown> }
        assert.deepEqual([settings.workers, settings.data, settings['metrics-public']], [2, folder, true])
        assert(!answer.text.includes(ROOT.secretKey))
      },
      '--console',
      '127.0.0.1:0',
      '--metrics-public',
    ),
  ))
