/**
 * A listing of many keys, measured in the browser: 50,000, or as many as HOLDFAST_TEST_KEYS says. The limits are wide,
 * because other work on the machine costs frames as well; the figures are printed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertQuiet } from '../browser.ts'
import { fillBucket, manyKey } from '../filled-bucket.ts'
import { openConsole } from '../visit.ts'

const BUCKET = 'many'
const KEYS = Number(process.env.HOLDFAST_TEST_KEYS ?? 50_000)
/** Rows to scroll through. */
const SCROLLED = Math.min(KEYS - 1, Number(process.env.HOLDFAST_TEST_ROWS ?? 20_000))
const ROW_PIXELS = 44

const visit = openConsole([], {
  async prepare(data) {
    const started = Date.now()
    await fillBucket(data, BUCKET, KEYS)
    console.log(`${KEYS} keys made in ${Date.now() - started} ms`)
  },
})
const { open, signIn } = visit

/** Frames that took long, and the work of the page that was the reason. */
const WATCH_FRAMES = `{
  const watched = { frames: [], tasks: [], last: performance.now() }
  window.watched = watched
  const frame = now => {
    watched.frames.push(now - watched.last)
    watched.last = now
    requestAnimationFrame(frame)
  }
  requestAnimationFrame(now => { watched.last = now; requestAnimationFrame(frame) })
  new PerformanceObserver(list => watched.tasks.push(...list.getEntries().map(one => one.duration)))
    .observe({ type: 'longtask' })
}`

interface Frames {
  readonly frames: readonly number[]
  readonly tasks: readonly number[]
}

test('the first page is ready soon on a cold cache', async () => {
  const context = await visit.browser.newContext()
  const page = await context.newPage()
  await page.goto(visit.world.server.consoleUrl)
  await page.getByRole('heading', { name: 'Sign in to Holdfast' }).waitFor()
  const ready = Number(await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`))
  console.log(`first page ready after ${Math.round(ready)} ms`)
  assert(ready < 20_000, `${ready} ms`)
  await context.close()
})

test('scrolling through pages of a listing stays smooth and small', async () => {
  await open(`/buckets/${BUCKET}`)
  await signIn(ROOT)
  await visit.page.getByRole('link', { name: manyKey(0) }).waitFor()
  const protocol = await visit.watched.context.newCDPSession(visit.page)
  const list = visit.page.getByRole('rowgroup').nth(1)
  await list.hover()
  await visit.page.evaluate(WATCH_FRAMES)
  let top = 0
  while (top < SCROLLED * ROW_PIXELS) {
    await visit.page.mouse.wheel(0, 8000)
    top = Number(await visit.page.evaluate(`document.querySelectorAll('[role="rowgroup"]')[1].scrollTop`))
  }
  const { frames, tasks } = (await visit.page.evaluate('window.watched')) as Frames
  const long = frames.filter(milliseconds => milliseconds > 50).length
  await protocol.send('HeapProfiler.collectGarbage')
  const { usedSize } = await protocol.send('Runtime.getHeapUsage')
  const sorted = [...frames].sort((one, other) => one - other)
  const percentile = (part: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * part)]!)
  console.log(
    [
      `${SCROLLED} rows in ${frames.length} frames`,
      `${long} over 50 ms, median ${percentile(0.5)} ms, 99th percentile ${percentile(0.99)} ms`,
      `${tasks.length} long tasks, longest ${Math.round(Math.max(0, ...tasks))} ms`,
      `heap ${Math.round(usedSize / 2 ** 20)} MiB`,
    ].join('; '),
  )
  assert((await visit.page.getByRole('row').count()) < 100, 'only rows in view exist')
  assert(percentile(0.5) < 500, 'half of the frames are longer than 500 ms')
  assert(usedSize < 200 * 2 ** 20, `${usedSize} bytes of memory`)
  assertQuiet(visit.watched)
})
