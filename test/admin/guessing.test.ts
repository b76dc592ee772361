/** Guessing is slowed down without locking out the holder of the key. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FailedAttempts } from '../../src/admin/failed-attempts.ts'
import { ManualClock } from '../../src/lib/clock.ts'
import { until } from '../http/wire.ts'
import { type Answer, type Asking, type Consoled, ROOT, withConsole } from './fixture.ts'

const PATH = '/v1/accounts'
/** This many wrong signatures for one key get an immediate response. */
const PROMPT = 5
const WAITING = 8

const guess = (number: number, accessKey = ROOT.accessKey): Asking => ({
  path: PATH,
  as: { accessKey, secretKey: `guess ${number}` },
})

async function guessed({ ask }: Consoled, times: number, accessKey?: string): Promise<void> {
  for (let i = 0; i < times; i++) assert.equal((await ask(guess(i, accessKey))).status, 403)
}

/** A clock that counts its waiters. */
class WaitedClock extends ManualClock {
  waiting = 0
  override after(ms: number, call: () => void): () => void {
    this.waiting++
    return super.after(ms, () => {
      this.waiting--
      call()
    })
  }
}

const withWaited = (use: (consoled: Consoled, clock: WaitedClock) => Promise<void>): Promise<void> => {
  const clock = new WaitedClock()
  return withConsole(consoled => use(consoled, clock), {}, clock)
}

test('A24: failures from an address never lock out a caller with a correct signature', () =>
  withWaited(async (consoled, clock) => {
    const { ask } = consoled
    for (let i = 0; i < 40; i++) await ask({ path: PATH, as: null })
    assert.equal((await ask({ path: PATH, as: null })).status, 429)
    assert.equal((await ask({ path: PATH })).status, 200)
    for (let i = 0; i < 40; i++) assert.equal((await ask(guess(i, `AKNOBODY${i}`))).status, 429)
    assert.equal((await ask({ path: PATH })).status, 200)
    clock.move(60_001)
    await guessed(consoled, PROMPT)
    const answers: Answer[] = []
    const slow = Array.from({ length: 40 }, (_, i) => ask(guess(i)).then(answer => answers.push(answer)))
    assert(await until(() => answers.length === 40 - WAITING && clock.waiting === WAITING))
    assert.equal((await ask({ path: PATH })).status, 200)
    clock.move(60_001)
    await Promise.all(slow)
    assert.equal((await ask({ path: PATH })).status, 200)
  }))

test('A24: from the sixth wrong signature on, responses for a key are delayed, longer each time', () =>
  withWaited(async (consoled, clock) => {
    const { ask } = consoled
    await guessed(consoled, PROMPT)
    for (const ms of [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000]) {
      let answer: Answer | undefined
      const asked = ask(guess(ms)).then(one => {
        answer = one
      })
      assert(await until(() => clock.waiting === 1))
      clock.move(ms - 1)
      assert.equal((await ask({ path: PATH })).status, 200, 'a right one does not wait')
      assert.equal(answer, undefined)
      clock.move(1)
      await asked
      assert.equal(answer!.status, 403)
    }
    assert.equal((await ask(guess(0, 'AKOTHER'))).status, 403, 'nor does one for another key')
    clock.move(60_001)
    await guessed(consoled, PROMPT)
  }))

test('A24: delayed responses per key are bounded; further requests get 429', () =>
  withWaited(async (consoled, clock) => {
    const { ask } = consoled
    await guessed(consoled, PROMPT)
    const waiting = Array.from({ length: WAITING }, (_, i) => ask(guess(i)))
    assert(await until(() => clock.waiting === WAITING))
    const more = await ask(guess(0))
    assert.deepEqual([more.status, more.json().code, more.headers['retry-after']], [429, 'TooManyRequests', '8'])
    clock.move(8_000)
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 403)
  }))

test('A33: a key that does not exist is slowed like one that does', () =>
  withWaited(async (consoled, clock) => {
    const { ask } = consoled
    for (const accessKey of [ROOT.accessKey, 'AKNOBODY']) {
      await guessed(consoled, PROMPT, accessKey)
      const asked = ask(guess(0, accessKey))
      assert(await until(() => clock.waiting === 1))
      clock.move(250)
      assert.equal((await asked).status, 403)
      clock.move(60_001)
    }
    // Also above the limit per address.
    for (let i = 0; i < 30; i++) await ask({ path: PATH, as: null })
    for (const accessKey of [ROOT.accessKey, 'AKNOBODY']) {
      const answer = await ask(guess(0, accessKey))
      assert.deepEqual(
        [answer.status, answer.json().code, answer.headers['retry-after']],
        [429, 'TooManyRequests', '60'],
      )
    }
  }))

test('A24: health is not delayed, and malformed or expired signatures do not count as guesses', () =>
  withWaited(async ({ ask }, clock) => {
    for (let i = 0; i < 20; i++) {
      assert.equal((await ask({ path: PATH, ahead: 901_000 })).json().code, 'RequestTimeTooSkewed')
      assert.equal((await ask({ path: PATH, service: 's3' })).status, 400)
    }
    assert.equal(clock.waiting, 0)
    assert.equal((await ask({ path: '/health/live', as: null })).status, 200)
    assert.equal((await ask({ path: PATH })).status, 200)
  }))

test('invented key names neither evict existing keys from the table nor grow it', async () => {
  const clock = new WaitedClock()
  const attempts = new FailedAttempts(clock)
  const real = { accessKey: 'AKREAL', exists: true }
  for (let i = 0; i < PROMPT; i++) await attempts.delayResponse(real)
  for (let i = 0; i < 25_000; i++) await attempts.delayResponse({ accessKey: `AK${i}`, exists: false })
  for (let i = 0; i < 25_000; i++) attempts.recordFailure(`10.0.${i >> 8}.${i & 255}`)
  assert.equal(clock.waiting, 0)
  const slowed = attempts.delayResponse(real)
  assert.equal(clock.waiting, 1)
  clock.move(250)
  await slowed
  assert.deepEqual(attempts.sizes, { addresses: 10_000, keys: 1, others: 10_000 })
})

test('A24 A33: wrong metrics tokens are delayed like wrong secrets, the right one never', () => {
  const clock = new WaitedClock()
  const scraping = { token: 'a-token-of-many-characters', isPublic: false }
  return withConsole(
    async ({ port }) => {
      const scrape = async (token: string): Promise<number> => {
        const headers = { authorization: `Bearer ${token}` }
        const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers })
        await answer.arrayBuffer()
        return answer.status
      }
      for (let i = 0; i < PROMPT; i++) assert.equal(await scrape(`guess-${i}`), 403)
      const slow = scrape('guess')
      assert(await until(() => clock.waiting === 1))
      assert.equal(await scrape(scraping.token), 200)
      clock.move(250)
      assert.equal(await slow, 403)
    },
    { scraping },
    clock,
  )
})
