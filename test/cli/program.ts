/**
 * The program as a script runs it. Commands and single-process servers run inside the test's process, which avoids
 * starting one each time; `spawned` and `spawnServer` start a real process: the current build, or the program named by
 * `HOLDFAST_TEST_PROGRAM`, which then runs everything.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { run } from '../../src/cli/program.ts'
import { readConfig } from '../../src/server/config.ts'
import { ServerLog } from '../../src/server/log.ts'
import { exitOf, startServer } from '../../src/server/start-server.ts'
import { PROGRAM } from '../entry-point.ts'

const GIVEN = process.env.HOLDFAST_TEST_PROGRAM
const [COMMAND, ...FIRST_WORDS] =
  GIVEN === undefined ? [process.execPath, PROGRAM] : (JSON.parse(GIVEN) as [string, ...string[]])

export const ROOT = { accessKey: 'HFROOTOFTESTS', secretKey: 'the-secret-of-the-root-of-tests' }
export const ROOT_ENV = { HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey, HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey }

/** The program as a shell calls it. */
export const commandLine = (): string => [COMMAND!, ...FIRST_WORDS].map(word => `'${word}'`).join(' ')

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly errors: string
}

/** Without the settings of another server and the preferences of a terminal. */
const surroundings = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH, HOME: process.env.HOME })

/** Starts the program, for tests that end it themselves. */
export function launch(args: readonly string[], env: NodeJS.ProcessEnv = ROOT_ENV): ChildProcess {
  return spawn(COMMAND!, [...FIRST_WORDS, ...args], {
    env: { ...surroundings(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

interface Surroundings {
  readonly env?: NodeJS.ProcessEnv
  readonly input?: string
}

/** Runs a command to its end, or `serve` until its start fails. Flags without a command need a process. */
export async function holdfast(args: readonly string[], how: Surroundings = {}): Promise<Ended> {
  const [first = ''] = args
  if (GIVEN !== undefined || first === '' || first.startsWith('-')) return spawned(args, how)
  if (first === 'serve') return failedStart(args, how.env)
  const { env = ROOT_ENV, input = '' } = how
  const written = { out: '', errors: '' }
  const into = (name: keyof typeof written) => ({
    write(text: string) {
      written[name] += text
    },
  })
  const streams = { stdin: Readable.from([input]), stdout: into('out'), stderr: into('errors') }
  const code = await run(args, { ...surroundings(), ...env }, streams)
  return { code, ...written }
}

/** A start that must fail; one that succeeds is stopped, and returns 0. */
async function failedStart(args: readonly string[], env: NodeJS.ProcessEnv = ROOT_ENV): Promise<Ended> {
  const { errors, start } = inProcess(args, env)
  try {
    await (await start()).close()
    return { code: 0, out: '', errors: errors() }
  } catch (error) {
    const { code, line } = exitOf(error)
    return { code, out: '', errors: errors() + line }
  }
}

/** A single-process server in this process, with the log that the program would write. */
function inProcess(args: readonly string[], env: NodeJS.ProcessEnv) {
  let written = ''
  const log = new ServerLog({ write: text => (written += text) }, {})
  return {
    errors() {
      log.flush()
      return written
    },
    async start() {
      const config = readConfig(args, { ...surroundings(), ...env })
      if (config === undefined) throw new Error(`help instead of a server: ${args.join(' ')}`)
      log.use(config)
      const tell = {
        log: (line: Readonly<Record<string, unknown>>) => log.log(line),
        notice: (line: string) => log.notice(line),
        abort: () => {},
      }
      return startServer({ ...config, workers: 1 }, tell)
    },
  }
}

/** Runs the program to its end, in a separate process. */
export async function spawned(
  args: readonly string[],
  { env = ROOT_ENV, input = '' }: Surroundings = {},
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
  // A program may exit without reading its input.
  child.stdin!.on('error', () => {})
  child.stdin!.end(input)
  const [code] = await once(child, 'close')
  return { code, out, errors }
}

export interface Serving {
  readonly url: string
  readonly consoleUrl: string
  /** Everything written to standard error so far. */
  errors(): string
  /** Resolves to the exit code. */
  stop(): Promise<unknown>
}

const FREE_PORTS = ['serve', '--listen', '127.0.0.1:0', '--console', '127.0.0.1:0']

/** A single-process server on free ports, with the root key of the tests. */
export async function serving(args: readonly string[], env: NodeJS.ProcessEnv = ROOT_ENV): Promise<Serving> {
  if (GIVEN !== undefined) return spawnServer([...args, '--workers', '1'], env)
  const { errors, start } = inProcess([...FREE_PORTS, ...args], env)
  const server = await start()
  return {
    url: server.url,
    consoleUrl: server.consoleUrl,
    errors,
    async stop() {
      await server.close()
      return 0
    },
  }
}

/** A server in a separate process, with its default number of workers. */
export async function spawnServer(
  args: readonly string[],
  env: NodeJS.ProcessEnv = ROOT_ENV,
): Promise<Serving & { readonly pid: number }> {
  const child = launch([...FREE_PORTS, ...args], env)
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
    errors: () => errors,
    url: ready[1]!,
    consoleUrl: ready[2]!,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      return (await ended)[0]
    },
  }
}
