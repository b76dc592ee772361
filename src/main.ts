#!/usr/bin/env node
/** The program: reads its configuration, reports when it is ready, and serves until it is stopped. */
import cluster from 'node:cluster'
import { readConfig, serveHelp } from './server/config.ts'
import { firstSteps } from './server/first-steps.ts'
import { type Logger, ServerLog, withLogLevel } from './server/log.ts'
import type { RunningServer } from './server/rejoining-server.ts'
import { exitOf, startServer } from './server/start-server.ts'
import { runWorker } from './server/worker-process.ts'
import { VERSION } from './version.ts'

const VERSION_WORDS = ['version', '--version', '-v', '-V']
const STOP_MS_MAX = 30_000

const log = new ServerLog(process.stderr, process.env)
process.on('exit', () => log.flush())
// A server goes on without its log, whose reader may be gone, or its disk full. One whose terminal is gone ends.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', () => void (stream.isTTY && process.kill(process.pid, 'SIGTERM')))
}

/** Everything but serving. Loaded only when asked for: a server does not need it. */
async function command(words: readonly string[]): Promise<void> {
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    // A reader that has enough, such as `head`, closes its pipe.
    if (code !== 'EPIPE') process.stderr.write(`holdfast: standard output cannot be written (${code})\n`)
    process.exit(1)
  })
  const { run } = await import('./cli/program.ts')
  process.exitCode = await run(words, process.env)
}

/** Without a command, or with flags alone, the program serves. */
function otherCommand([first, ...rest]: readonly string[]): readonly string[] | undefined {
  if (first === '--help' || first === '-h') return ['help', ...rest]
  if (first === '--version' || first === '-v' || first === '-V') return ['version', ...rest]
  return first === undefined || first === 'serve' || first.startsWith('-') ? undefined : [first, ...rest]
}

async function main(): Promise<void> {
  if (process.argv.length === 3 && VERSION_WORDS.includes(process.argv[2]!)) {
    process.stdout.write(`holdfast ${VERSION}\n`)
    return
  }
  const words = otherCommand(process.argv.slice(2))
  if (words !== undefined) return command(words)
  const config = readConfig(process.argv.slice(2), process.env)
  if (config === undefined) return void process.stdout.write(`${serveHelp()}\n`)
  // Before it serves there is nothing to finish. Without a listener, process 1 of a container would not receive these
  // signals at all.
  let stop: (signal: NodeJS.Signals) => void = () => process.exit(0)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal))
  log.use(config)
  const running = await startServer(config, log)
  const logger = withLogLevel(config.logLevel, log)
  stop = stopOnce(running, logger)
  process.on('SIGHUP', () => void reload(running, logger))
  logger.log({ level: 'info', message: 'ready', url: running.url, console: running.consoleUrl })
  log.flush()
  // Last, so that its reader can do anything, including stopping the server.
  process.stdout.write(`holdfast ready ${running.url} console ${running.consoleUrl}\n`)
  // For a person alone: what scripts read, on either stream, stays as it is.
  const hints = process.stderr.isTTY ? await firstSteps(config, running.url) : undefined
  if (hints !== undefined) process.stderr.write(`holdfast: ${hints}\n`)
}

/** Requests in flight may finish, but not hold up the end for ever. */
function stopOnce(running: RunningServer, { log }: Logger): (signal: NodeJS.Signals) => void {
  let stopping = false
  return signal => {
    if (stopping) return
    stopping = true
    log({ level: 'info', message: 'stopping', signal })
    setTimeout(() => {
      log({ level: 'warn', message: `requests are still in flight after ${STOP_MS_MAX / 1000} s: they are cut off` })
      process.exit(0)
    }, STOP_MS_MAX).unref()
    running.close().then(
      () => {
        log({ level: 'info', message: 'stopped' })
        process.exit(0)
      },
      (error: unknown) => {
        log({ level: 'error', message: 'the stop failed', error: String(error) })
        process.exit(1)
      },
    )
  }
}

async function reload(running: RunningServer, { log }: Logger): Promise<void> {
  log({ level: 'info', message: 'reloading', signal: 'SIGHUP' })
  try {
    await running.reload()
    log({ level: 'info', message: 'reloaded' })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    log({ level: 'error', message: 'the reload failed: the certificate in force stays in force', error: why })
  }
}

if (cluster.isWorker) runWorker(log, config => log.use(config))
else
  main().catch((error: unknown) => {
    const { code, line } = exitOf(error)
    process.stderr.write(line)
    process.exitCode = code
  })
