/** The real program, as a script meets it: what was just built, or what `HOLDFAST_TEST_PROGRAM` names. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
const GIVEN = process.env.HOLDFAST_TEST_PROGRAM
const [COMMAND, ...FIRST_WORDS] =
  GIVEN === undefined
    ? [process.execPath, join(here, `../../src/main.${extension}`)]
    : (JSON.parse(GIVEN) as [string, ...string[]])

export const ROOT = { accessKey: 'HFROOTOFTESTS', secretKey: 'the-secret-of-the-root-of-tests' }
export const ROOT_ENV = { HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey, HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey }

/** The program as a shell calls it. */
export const commandLine = (): string => [COMMAND!, ...FIRST_WORDS].map(word => `'${word}'`).join(' ')

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

/** Starts the program, for tests that end it themselves. */
export function launch(args: readonly string[], env: NodeJS.ProcessEnv = ROOT_ENV): ChildProcess {
  // Nothing of the surroundings: neither settings of another server nor a terminal's wishes.
  const clean = { PATH: process.env.PATH, HOME: process.env.HOME, ...env }
  return spawn(COMMAND!, [...FIRST_WORDS, ...args], { env: clean, stdio: ['pipe', 'pipe', 'pipe'] })
}

/** Runs the program to its end. */
export async function holdfast(
  args: readonly string[],
  { env = ROOT_ENV, input = '' }: { readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<Ended> {
  const child = launch(args, env)
  let out = ''
  let errors = ''
  child.stdout!.on('data', chunk => {
    out += String(chunk)
  })
  child.stderr!.on('data', chunk => {
    errors += String(chunk)
  })
  // A program that ends without reading what it is told is none of ours to complain about.
  child.stdin!.on('error', () => {})
  child.stdin!.end(input)
  const [code] = await once(child, 'close')
  return { code, out, errors }
}

export interface Serving {
  readonly pid: number
  readonly url: string
  readonly consoleUrl: string
  stop(): Promise<unknown>
}

/** A server on free ports, with the root key of tests. */
export async function serving(args: readonly string[], env: NodeJS.ProcessEnv = ROOT_ENV): Promise<Serving> {
  const child = launch(['serve', '--listen', '127.0.0.1:0', '--console', '127.0.0.1:0', ...args], env)
  let errors = ''
  child.stderr!.on('data', chunk => {
    errors += String(chunk)
  })
  let out = ''
  for await (const chunk of child.stdout!) {
    out += String(chunk)
    if (out.includes('\n')) break
  }
  const ready = /^holdfast ready (\S+) console (\S+)\n/.exec(out)
  if (ready === null) throw new Error(`not ready: ${out}${errors}`)
  return {
    pid: child.pid!,
    url: ready[1]!,
    consoleUrl: ready[2]!,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      return (await ended)[0]
    },
  }
}
