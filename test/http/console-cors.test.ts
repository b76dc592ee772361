/** The console's page may send requests to the object API; other origins get what the rules of the bucket say. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { type Client, type Received, withServer } from './server.ts'

const CONSOLE = { port: 9001, urls: ['https://console.example.com'] }
const HOST = '127.0.0.1:9000'
const OWN = 'http://127.0.0.1:9001'

/** Each differs from the console's origin in one way. */
const FOREIGN = [
  'http://evil.example',
  'http://evil.example:9001',
  'http://127.0.0.1.evil.example:9001',
  'http://10.0.0.1:9001',
  'http://127.0.0.1:9002',
  'http://127.0.0.1',
  'https://127.0.0.1:9001',
  'http://console.example.com',
  'https://console.example.com.evil.example',
  'https://xconsole.example.com',
  'null',
]

const granted = ({ headers }: Received): string[] => [...headers.keys()].filter(name => /^access-control/.test(name))
const allowed = ({ headers }: Received): string | undefined => headers.get('access-control-allow-origin')

const preflight = (client: Client, path: string, origin: string): Promise<Received> =>
  client.send({
    method: 'OPTIONS',
    host: HOST,
    path,
    as: null,
    headers: [
      ['origin', origin],
      ['access-control-request-method', 'PUT'],
      ['access-control-request-headers', 'x-amz-tagging'],
    ],
  })

const get = (client: Client, path: string, origin: string): Promise<Received> =>
  client.send({ method: 'GET', host: HOST, path, headers: [['origin', origin]] })

test("the console's page gets answers to preflights and requests, errors included, without credentials", () =>
  withServer(
    async ({ s3 }) => {
      await s3.send({ method: 'PUT', host: HOST, path: '/photos' })
      for (const path of ['/', '/photos', '/photos/key', '/nosuchbucket/key']) {
        for (const origin of [OWN, 'https://console.example.com']) {
          const { status, headers } = await preflight(s3, path, origin)
          assert.deepEqual(
            [status, headers.get('access-control-allow-origin'), headers.get('access-control-allow-headers')],
            [200, origin, 'x-amz-tagging'],
            path,
          )
          assert.match(headers.get('access-control-allow-methods')!, /PUT/)
        }
        const answer = await get(s3, path, OWN)
        assert.equal(allowed(answer), OWN, path)
        assert.equal(answer.headers.get('access-control-expose-headers'), '*')
        assert.equal(answer.headers.get('access-control-allow-credentials'), undefined)
        assert.match(answer.headers.get('vary')!, /Origin/)
      }
      const refused = await s3.send({
        method: 'GET',
        host: HOST,
        path: '/photos',
        as: null,
        headers: [['origin', OWN]],
      })
      assert.deepEqual([refused.status, allowed(refused)], [403, OWN])
    },
    { console: CONSOLE },
  ))

test('another origin gets no CORS headers from it', () =>
  withServer(
    async ({ s3 }) => {
      await s3.send({ method: 'PUT', host: HOST, path: '/photos' })
      for (const origin of FOREIGN) {
        for (const path of ['/', '/photos', '/photos/key']) {
          const asked = await preflight(s3, path, origin)
          assert.deepEqual([asked.status, granted(asked)], [403, []], `${origin} ${path}`)
          assert.deepEqual(granted(await get(s3, path, origin)), [], `${origin} ${path}`)
        }
      }
    },
    { console: CONSOLE },
  ))

test('rules of a bucket apply to other origins as before', () =>
  withServer(
    async ({ s3 }) => {
      await s3.send({ method: 'PUT', host: HOST, path: '/photos' })
      const rule = '<AllowedOrigin>http://page.example</AllowedOrigin><AllowedMethod>GET</AllowedMethod>'
      const body = `<CORSConfiguration><CORSRule>${rule}</CORSRule></CORSConfiguration>`
      const md5 = createHash('md5').update(body).digest('base64')
      const set = { method: 'PUT', host: HOST, path: '/photos?cors', body, headers: [['content-md5', md5]] } as const
      assert.equal((await s3.send(set)).status, 200)
      const answer = await get(s3, '/photos', 'http://page.example')
      assert.equal(allowed(answer), 'http://page.example')
      assert.equal(answer.headers.get('access-control-expose-headers'), undefined)
      assert.equal(allowed(await get(s3, '/photos', OWN)), OWN)
    },
    { console: CONSOLE },
  ))

test('without a console no origin is special', () =>
  withServer(async ({ s3 }) => {
    await s3.send({ method: 'PUT', host: HOST, path: '/photos' })
    assert.deepEqual(granted(await preflight(s3, '/photos', OWN)), [])
    assert.deepEqual(granted(await get(s3, '/photos', OWN)), [])
  }))
