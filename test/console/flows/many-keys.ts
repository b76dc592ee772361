/**
 * A listing of many keys, measured in the browser: 50,000, or as many as HOLDFAST_TEST_KEYS says. Other work on the
 * machine costs frames as well, so that these are only printed; the processor time of the page's own tasks is limited.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { assertQuiet, until } from '../browser.ts'
import { fillBucket, manyKey } from '../filled-bucket.ts'
import { openConsole } from '../visit.ts'

const BUCKET = 'many'
const KEYS = Number(process.env.HOLDFAST_TEST_KEYS ?? 50_000)
/** Rows to scroll through. */
const SCROLLED = Math.min(KEYS, Number(process.env.HOLDFAST_TEST_ROWS ?? 20_000))
const WHEEL_PIXELS = 8000
const FIRST_VISITS = 5
/** As long as a frame may take. */
const TASK_MS_MAX = 50
/** Some may take longer, like a collection of garbage: what a page of the listing costs is seen twenty times. */
const TASKS_LONGER_MAX = 9
/** The number of the last row in view, from 1. */
const LAST_ROW = `Math.max(...[...document.querySelectorAll('[role="row"]')].map(row => row.ariaRowIndex)) - 1`

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

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  /** Microseconds of processor time. */
  readonly tdur?: number
  readonly args: { readonly name?: string }
}

/** Processor time of the tasks on the main threads of pages, in milliseconds, longest first. */
function tasksIn(trace: Buffer): number[] {
  const { traceEvents: events } = JSON.parse(trace.toString()) as { traceEvents: readonly TraceEvent[] }
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`
  const isMain = ({ name, args }: TraceEvent): boolean => name === 'thread_name' && args.name === 'CrRendererMain'
  const main = new Set(events.filter(isMain).map(threadOf))
  return events
    .filter(event => event.ph === 'X' && event.tdur !== undefined && main.has(threadOf(event)))
    .map(({ tdur }) => tdur! / 1000)
    .sort((one, other) => other - one)
}

interface Frames {
  readonly frames: readonly number[]
  readonly tasks: readonly number[]
}

/** When a page of a browser that has visited nothing shows its first content. */
async function firstPaint(): Promise<number> {
  const context = await visit.browser.newContext()
  const page = await context.newPage()
  // The time of a browser that starts its own processes is not the console's.
  await page.goto('about:blank')
  await page.goto(visit.world.server.consoleUrl)
  await until(page, `performance.getEntriesByName('first-contentful-paint').length > 0`)
  const ready = Number(await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0].startTime`))
  await context.close()
  return Math.round(ready)
}

test('the first page is ready soon on a cold cache', async () => {
  const paints: number[] = []
  for (let visits = 0; visits < FIRST_VISITS; visits += 1) paints.push(await firstPaint())
  console.log(`first page ready after ${paints.join(', ')} ms`)
  assert(Math.min(...paints) < 20_000)
})

test('scrolling through pages of a listing stays smooth and small', async () => {
  await open(`/buckets/${BUCKET}`)
  await signIn(ROOT)
  await visit.page.getByRole('link', { name: manyKey(0) }).waitFor()
  const protocol = await visit.watched.context.newCDPSession(visit.page)
  const list = visit.page.getByRole('rowgroup').nth(1)
  await list.hover()
  await visit.page.evaluate(WATCH_FRAMES)
  await visit.browser.startTracing(visit.page, { categories: ['toplevel', '-*'] })
  let last = 0
  while (last < SCROLLED) {
    await visit.page.mouse.wheel(0, WHEEL_PIXELS)
    last = Number(await visit.page.evaluate(LAST_ROW))
  }
  const byTime = tasksIn(await visit.browser.stopTracing())
  const [longest = Number.NaN] = byTime
  const repeated = byTime[TASKS_LONGER_MAX] ?? Number.NaN
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
      `most processor time of a task ${Math.round(longest)} ms, of the tenth ${Math.round(repeated)} ms`,
      `heap ${Math.round(usedSize / 2 ** 20)} MiB`,
    ].join('; '),
  )
  assert((await visit.page.getByRole('row').count()) < 100, 'only rows in view exist')
  assert(repeated < TASK_MS_MAX, `tasks of the page took ${byTime.slice(0, 10).join(', ')} ms of processor time`)
  assert(usedSize < 200 * 2 ** 20, `${usedSize} bytes of memory`)
  assertQuiet(visit.watched)
})
