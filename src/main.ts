#!/usr/bin/env node
/** The program: reads its configuration, serves until it is told to stop, and says when it can. */
import cluster from 'node:cluster'
import { BadConfig, type Config, readConfig, USAGE } from './server/config.ts'
import { LogLines } from './server/log-lines.ts'
import { serve } from './server/serve.ts'
import { startFailure } from './server/start-failure.ts'
import { type Tell, wholeLine } from './server/tell.ts'
import { runWorker } from './server/worker-process.ts'
import { VERSION } from './version.ts'

const EXIT_USAGE = 2
const STOP_MS_MAX = 30_000
/** Time for the answer to go out before the process ends. */
const LAST_WORDS_MS = 100

function configure(): Config | undefined {
  try {
    const config = readConfig(process.argv.slice(2), process.env)
    if (config === undefined) process.stdout.write(`${USAGE}\n`)
    return config
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    process.stderr.write(`holdfast: ${error.message}\n`)
    process.exitCode = EXIT_USAGE
    return undefined
  }
}

const lines = new LogLines(text => process.stderr.write(text))
process.on('exit', () => lines.flush())

const tell: Tell = {
  log: line => {
    lines.add(wholeLine(line))
    // Whatever is wrong may be about to end the process.
    if (line.level === 'error') lines.flush()
  },
  once: line => {
    lines.flush()
    process.stderr.write(`holdfast: ${line}\n`)
  },
  end: () => setTimeout(() => process.exit(1), LAST_WORDS_MS),
}

/** Everything but serving. Loaded only when asked for: a server does not need it. */
async function command(words: readonly string[]): Promise<void> {
  const { run } = await import('./cli/program.ts')
  process.exitCode = await run(words, process.env)
}

/** Without a word of its own, or with flags alone, the program serves. */
function otherCommand([first, ...rest]: readonly string[]): readonly string[] | undefined {
  if (first === '--help' || first === '-h') return ['help', ...rest]
  return first === undefined || first === 'serve' || first.startsWith('-') ? undefined : [first, ...rest]
}

async function main(): Promise<void> {
  if (process.argv[2] === '--version') {
    process.stdout.write(`holdfast ${VERSION}\n`)
    return
  }
  const words = otherCommand(process.argv.slice(2))
  if (words !== undefined) return command(words)
  const config = configure()
  if (config === undefined) return
  // As long as it does not serve there is nothing to finish. Unless somebody listens, the first process of a container
  // is not even reached by these.
  let stop = (): void => process.exit(0)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop())
  const running = await serve(config, tell).catch((error: unknown) => {
    throw error instanceof BadConfig ? error : new Error(startFailure(error, config), { cause: error })
  })
  let stopping = false
  stop = () => {
    if (stopping) return
    stopping = true
    // Requests in flight may finish, but not hold up the end for ever.
    setTimeout(() => process.exit(0), STOP_MS_MAX).unref()
    running.close().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGHUP', () => {
    running.reload().catch((error: unknown) => process.stderr.write(`holdfast: ${String(error)}\n`))
  })
  // Last, so that whoever reads it can do anything, also stop the server.
  process.stdout.write(`holdfast ready ${running.url} console ${running.consoleUrl}\n`)
}

if (cluster.isWorker) runWorker(tell)
else
  main().catch((error: unknown) => {
    process.stderr.write(`holdfast: ${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = error instanceof BadConfig ? EXIT_USAGE : 1
  })
