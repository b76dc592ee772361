/**
 * A worker process: serves objects and nothing else. It follows its supervisor's messages and exits when the supervisor
 * is gone. It ignores signals, since one to the whole process group must not abort requests; the supervisor handles it.
 */

import type { Certificate } from '../http/listen.ts'
import { optimizeEarly, relaxCollector } from '../lib/runtime.ts'
import type { EpochKind } from '../store/reclaim/reclamation-barrier.ts'
import { joinFolder, type ServerParts } from './compose.ts'
import type { Config } from './config.ts'
import { type Logger, withLogLevel } from './log.ts'
import type { ToSupervisor, ToWorker, WorkerAssignment } from './messages.ts'
import { type ObjectServer, serveObjects } from './object-server.ts'
import { folderOptions } from './prepare.ts'

const send = (message: ToSupervisor): void => void process.send?.(message)

class WorkerProcess {
  readonly #parts: ServerParts
  readonly #objects: ObjectServer
  readonly #logger: Logger

  constructor(parts: ServerParts, objects: ObjectServer, logger: Logger) {
    this.#parts = parts
    this.#objects = objects
    this.#logger = logger
  }

  static async start(assignment: WorkerAssignment, everything: Logger): Promise<WorkerProcess> {
    const { config, incarnation, generation } = assignment
    const logger = withLogLevel(config.logLevel, everything)
    const writer = Buffer.from(assignment.writer, 'hex')
    const member = assignment.member === undefined ? undefined : Buffer.from(assignment.member, 'hex')
    const parts = await joinFolder({ ...folderOptions(config, logger), incarnation, generation, writer, member })
    return new WorkerProcess(parts, await serveObjects(parts.store, assignment, logger), logger)
  }

  hear(message: ToWorker): void {
    if (message.do === 'drain') void this.#drain(message.of, message.number)
    else if (message.do === 'reload keys') void this.#reloadKeys(message.number)
    else if (message.do === 'reload findings') void this.#reloadFindings(message.number)
    else if (message.do === 'metrics') void this.#sendMetrics(message.number)
    else if (message.do === 'renew') void this.#renew(message.certificate)
    else if (message.do === 'console port') this.#objects.setConsolePort(message.port)
    else if (message.do === 'reopen') this.#objects.reopen()
    else if (message.do === 'stop') void this.#stop()
  }

  async #drain(of: EpochKind, number: number): Promise<void> {
    const { context } = this.#parts.store
    await context[of].drained()
    send({ did: 'finish', number })
    // A file that another process removed occupies space for as long as it is open here.
    if (of === 'readers') context.blobs.closeIdle()
  }

  async #reloadKeys(number: number): Promise<void> {
    try {
      await this.#parts.store.context.keyring.reload()
      send({ did: 'finish', number })
    } catch (error) {
      // It must not continue with outdated keys; its exit counts as the reply.
      this.#logger.log({ level: 'error', error: String(error) })
      this.#logger.abort()
    }
  }

  async #reloadFindings(number: number): Promise<void> {
    try {
      await this.#parts.reloadFindings()
      send({ did: 'finish', number })
    } catch (error) {
      // It would respond 404 for lost records; its replacement reads the findings at start.
      this.#logger.log({ level: 'error', error: String(error) })
      this.#logger.abort()
    }
  }

  async #sendMetrics(number: number): Promise<void> {
    try {
      send({ did: 'metrics', number, samples: await this.#objects.samples() })
    } catch (error) {
      // The scrape times out; serving is not affected.
      this.#logger.log({ level: 'warn', error: String(error) })
    }
  }

  async #renew(certificate: Certificate): Promise<void> {
    try {
      await this.#objects.renew(certificate)
    } catch (error) {
      // It may no longer listen; its replacement does.
      this.#logger.log({ level: 'error', error: String(error) })
      this.#logger.abort()
    }
  }

  async #stop(): Promise<void> {
    try {
      await this.#objects.close()
      await this.#parts.close()
      process.exit(0)
    } catch (error) {
      this.#logger.log({ level: 'error', error: String(error) })
      process.exit(1)
    }
  }
}

/** `configured` is called before anything is logged, once the configuration is known. */
export function runWorker(logger: Logger, configured: (config: Config) => void): void {
  relaxCollector()
  optimizeEarly()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit(1))
  let running: Promise<WorkerProcess> | undefined
  process.on('message', (message: ToWorker) => {
    // Handled even during the start, which may take long.
    if (message.do === 'heartbeat') {
      send({ did: 'heartbeat' })
      return
    }
    if (message.do !== 'assign') {
      // In the order sent; before its assignment a worker has no readers and no requests in flight.
      void running?.then(worker => worker.hear(message))
      return
    }
    configured(message.assignment.config)
    running = WorkerProcess.start(message.assignment, logger)
    running.then(
      () => send({ did: 'listen' }),
      (error: unknown) => {
        send({ did: 'fail', why: error instanceof Error ? error.message : String(error) })
        logger.abort()
      },
    )
  })
  send({ did: 'start' })
}
