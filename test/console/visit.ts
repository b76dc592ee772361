/** One visit of the console: a server, a browser and a page in it, for all tests of a file. */
import { after, before } from 'node:test'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { ROOT } from '../cli/program.ts'
import { launchBrowser, type Watched, watchedPage } from './browser.ts'
import { startWorld, type World } from './world.ts'

export interface Visit {
  readonly world: World
  readonly browser: Browser
  readonly watched: Watched
  readonly page: Page
  open(path: string): Promise<unknown>
  button(name: string | RegExp): Locator
  /** Fills the sign-in form, which must be open. */
  signIn(key: typeof ROOT): Promise<void>
}

export interface VisitOptions {
  /** Further switches of the browser. */
  readonly switches?: readonly string[]
  readonly context?: BrowserContextOptions
  readonly prepare?: (data: string) => Promise<void>
}

/** Call it at the top of a file: it begins before the first test and ends after the last. */
export function openConsole(
  flags: Parameters<typeof startWorld>[0] = [],
  { switches, context, prepare }: VisitOptions = {},
): Visit {
  let world: World
  let browser: Browser
  let watched: Watched
  before(async () => {
    world = await startWorld(flags, prepare)
    browser = await launchBrowser(switches)
    watched = await watchedPage(browser, [world.server.url, world.server.consoleUrl], context)
  })
  after(async () => {
    await browser?.close()
    await world?.end()
  })
  const button = (name: string | RegExp) => watched.page.getByRole('button', { name, exact: typeof name === 'string' })
  return {
    get world() {
      return world
    },
    get browser() {
      return browser
    },
    get watched() {
      return watched
    },
    get page() {
      return watched.page
    },
    open: path => watched.page.goto(world.server.consoleUrl + path),
    button,
    async signIn({ accessKey, secretKey }) {
      await watched.page.getByLabel('Access key').fill(accessKey)
      await watched.page.getByRole('textbox', { name: 'Secret key' }).fill(secretKey)
      await button('Sign in').click()
    },
  }
}
