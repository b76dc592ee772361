/** A browser on the console, watched: what it must never do fails the test that made it do so. */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

export const SHOTS = 'dist/console-shots'
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** Generous: the machine may be busy with other tests. */
const STEP_MS = 30_000

const WIDTHS = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } } as const
const THEMES = ['light', 'dark'] as const

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

export async function launchBrowser(args: readonly string[] = []): Promise<Browser> {
  const executablePath = process.env.CHROMIUM
  assert(executablePath, 'CHROMIUM names the browser: use npm run test:console')
  // Chromium's own sandbox does not work for root, which containers run as.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...args] })
}

export interface Watched {
  readonly context: BrowserContext
  readonly page: Page
  /** Errors of the console and requests to other servers since the last call. */
  troubles(): string[]
}

/** `origins` are the servers that the page may talk to. */
export async function watchedPage(
  browser: Browser,
  origins: readonly string[],
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({ viewport: WIDTHS.desktop, acceptDownloads: true, ...options })
  context.setDefaultTimeout(STEP_MS)
  const page = await context.newPage()
  const seen: string[] = []
  page.on('console', message => {
    const { url } = message.location()
    if (message.type() === 'error' || message.type() === 'warning') seen.push(`${message.text()} ${url}`)
  })
  page.on('pageerror', error => seen.push(`exception: ${error.stack ?? error.message}`))
  page.on('request', request => {
    const url = request.url()
    if (!/^(blob|data):/.test(url) && !origins.some(origin => url.startsWith(`${origin}/`)))
      seen.push(`request: ${url}`)
  })
  return { context, page, troubles: () => seen.splice(0) }
}

/** A refusal that a test provokes is logged by the browser, too. */
export function assertQuiet({ troubles }: Watched, expected: RegExp | undefined = undefined): void {
  assert.deepEqual(
    troubles().filter(line => expected === undefined || !expected.test(line)),
    [],
  )
}

/** Waits for a condition in the page. As a text it would be evaluated there, which the page's policy forbids. */
export async function until(page: Page, condition: string): Promise<void> {
  await page.waitForFunction(new Function(`return ${condition}`) as () => boolean)
}

/** Text that is still fading in has too little contrast for a moment, and colours follow a changed theme one by one. */
const settled = (page: Page): Promise<void> =>
  until(page, 'document.getAnimations().every(one => one.playState !== "running")')

/** axe describes elements after it has found them, so it fails where one of them has left the page meanwhile. */
const RUN_AXE = `(async () => {
  let isChanged = false
  const observer = new MutationObserver(() => { isChanged = true })
  observer.observe(document.documentElement, { subtree: true, childList: true })
  const outcome = await axe.run().then(({ violations }) => ({ violations }), error => ({ error: String(error) }))
  isChanged ||= observer.takeRecords().length > 0
  observer.disconnect()
  return { isChanged, ...outcome }
})()`

interface AxeRun {
  readonly isChanged: boolean
  readonly violations?: readonly Violation[]
  readonly error?: string
}

/** A run counts when the page stood still. Pages with live figures never do for long, so the last run counts there. */
const AXE_RUNS_MAX = 8

export async function assertAccessible(page: Page): Promise<void> {
  await settled(page)
  await page.evaluate(`if (window.axe === undefined) { ${AXE} }`)
  let run = (await page.evaluate(RUN_AXE)) as AxeRun
  for (let runs = 1; run.isChanged && runs < AXE_RUNS_MAX; runs++) run = (await page.evaluate(RUN_AXE)) as AxeRun
  assert.equal(run.error, undefined)
  const found = run.violations!.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  )
  assert.deepEqual(found, [])
}

/**
 * Pictures of the page in both themes and widths, and its accessibility in each theme and each width once. Nothing may
 * be wider than the screen.
 */
export async function showPage(page: Page, name: string): Promise<void> {
  mkdirSync(SHOTS, { recursive: true })
  for (const [width, size] of Object.entries(WIDTHS)) {
    await page.setViewportSize(size)
    for (const theme of THEMES) {
      await setTheme(page, theme)
      if ((width === 'phone') === (theme === 'dark')) await assertAccessible(page)
      await page.screenshot({ path: join(SHOTS, `${name}-${width}-${theme}.png`) })
    }
    const excess = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.equal(excess, 0, `${name} is wider than ${size.width} pixels`)
  }
  await page.setViewportSize(WIDTHS.desktop)
  await setTheme(page, 'light')
}

async function setTheme(page: Page, theme: (typeof THEMES)[number]): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
  await until(page, `document.documentElement.dataset.mantineColorScheme === '${theme}'`)
  await settled(page)
}
