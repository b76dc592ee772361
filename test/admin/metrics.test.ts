/** Access to the metrics. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { BadConfig, readConfig } from '../../src/server/config.ts'
import { withFolder } from '../store/fixture.ts'
import { figure, readExposition } from '../telemetry/exposition.ts'
import { type Answer, ROOT, withConsole } from './fixture.ts'

const TOKEN = 'a-token-for-prometheus'
const withToken = { scraping: { token: TOKEN, isPublic: false } }

function scrape(port: number, authorization?: string): Promise<Pick<Answer, 'status' | 'headers' | 'text'>> {
  return new Promise((resolve, reject) => {
    const headers = authorization === undefined ? {} : { authorization }
    request({ port, path: '/metrics', headers }, answer => {
      let text = ''
      answer.on('data', chunk => {
        text += String(chunk)
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
    })
      .on('error', reject)
      .end()
  })
}

test('A32: metrics require an administrator or the token', () =>
  withConsole(async ({ port, ask, clock, log }) => {
    const right = await scrape(port, `Bearer ${TOKEN}`)
    assert.equal(right.status, 200)
    assert.equal(right.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    assert.equal(figure(readExposition(right.text), 'holdfast_info'), 1)
    assert.equal((await ask({ path: '/metrics' })).status, 200)
    const wrong = [
      undefined,
      'Bearer',
      'Bearer ',
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
      `Basic ${TOKEN}`,
      TOKEN,
    ]
    for (const authorization of wrong) {
      const answer = await scrape(port, authorization)
      assert.equal(answer.status, 403, authorization)
      assert.doesNotMatch(answer.text, /holdfast_/)
      clock.move(60_001)
    }
    assert.equal((await ask({ path: '/metrics', as: { ...ROOT, secretKey: 'guess' } })).status, 403)
    assert(!JSON.stringify(log).includes(TOKEN))
  }, withToken))

test('the metrics token grants nothing but metrics', () =>
  withConsole(async ({ port, clock }) => {
    for (const path of ['/v1/accounts', '/v1/server', '/v1/buckets']) {
      const status = await new Promise((resolve, reject) =>
        request({ port, path, headers: { authorization: `Bearer ${TOKEN}` } }, answer => {
          answer.resume()
          resolve(answer.statusCode)
        })
          .on('error', reject)
          .end(),
      )
      assert.equal(status, 403, path)
      clock.move(60_001)
    }
  }, withToken))

test('without a token every token is refused; public metrics need none', async () => {
  await withConsole(async ({ port }) => {
    assert.equal((await scrape(port, 'Bearer undefined')).status, 403)
  })
  await withConsole(
    async ({ port }) => {
      assert.equal((await scrape(port)).status, 200)
    },
    { scraping: { token: undefined, isPublic: true } },
  )
})

test('the token comes from the environment or a file, and a bad one ends the start', () =>
  withFolder(async folder => {
    const file = join(folder, 'token')
    const given = (text: string): unknown => {
      writeFileSync(file, text)
      return readConfig(['--metrics-token-file', file], { HOLDFAST_METRICS_TOKEN: 'from-the-environment' })?.metrics
        .token
    }
    assert.equal(given(`${TOKEN}\n`), TOKEN)
    assert.equal(readConfig([], { HOLDFAST_METRICS_TOKEN: TOKEN })?.metrics.token, TOKEN)
    assert.equal(readConfig([], {})?.metrics.token, undefined)
    for (const bad of ['', 'short', 'with a space in between', 'not-in-äscii-at-all']) {
      assert.throws(
        () => given(bad),
        (error: Error) => error instanceof BadConfig && (bad === '' || !error.message.includes(bad)),
      )
    }
    assert.throws(() => readConfig(['--metrics-token-file', join(folder, 'none')], {}), BadConfig)
  }))
