/**
 * A worker process: serves objects and nothing else. It does what its supervisor says, answers who is inside, and ends
 * when the supervisor is gone. Signals are the supervisor's business: one to the whole group must not cut requests off.
 */

import type { Certificate } from '../http/listen.ts'
import { relaxCollector } from '../lib/runtime.ts'
import type { EpochKind } from '../store/reclaim/reclamation-barrier.ts'
import { joinFolder, type ServerParts } from './compose.ts'
import type { Config } from './config.ts'
import { atLeast, type Log } from './log.ts'
import type { ToSupervisor, ToWorker, WorkerAssignment } from './messages.ts'
import { type ObjectServer, serveObjects } from './object-server.ts'
import { folderOptions } from './prepare.ts'

const say = (message: ToSupervisor): void => void process.send?.(message)

class WorkerProcess {
  readonly #parts: ServerParts
  readonly #objects: ObjectServer
  readonly #tell: Log

  constructor(parts: ServerParts, objects: ObjectServer, tell: Log) {
    this.#parts = parts
    this.#objects = objects
    this.#tell = tell
  }

  static async start(assignment: WorkerAssignment, everything: Log): Promise<WorkerProcess> {
    const { config, epoch, generation } = assignment
    const tell = atLeast(config.logLevel, everything)
    const writer = Buffer.from(assignment.writer, 'hex')
    const parts = await joinFolder({ ...folderOptions(config, tell), epoch, generation, writer })
    return new WorkerProcess(parts, await serveObjects(parts.store, assignment, tell), tell)
  }

  hear(message: ToWorker): void {
    if (message.do === 'line') void this.#line(message.of, message.number)
    else if (message.do === 'reload keys') void this.#reloadKeys(message.number)
    else if (message.do === 'reload findings') void this.#reloadFindings(message.number)
    else if (message.do === 'measure') void this.#measure(message.number)
    else if (message.do === 'renew') void this.#renew(message.certificate)
    else if (message.do === 'reopen') this.#reopen()
    else if (message.do === 'stop') void this.#stop()
  }

  async #line(of: EpochKind, number: number): Promise<void> {
    const { context } = this.#parts.store
    await context[of].drained()
    say({ did: 'pass', number })
    // A file that another process removes keeps its space for as long as it is open here.
    if (of === 'readers') context.blobs.closeIdle()
  }

  async #reloadKeys(number: number): Promise<void> {
    try {
      await this.#parts.store.context.keyring.reload()
      say({ did: 'pass', number })
    } catch (error) {
      // With keys that may be gone it must not go on; its end is an answer, too.
      this.#tell.log({ level: 'error', error: String(error) })
      this.#tell.end()
    }
  }

  async #reloadFindings(number: number): Promise<void> {
    try {
      await this.#parts.reloadFindings()
      say({ did: 'pass', number })
    } catch (error) {
      // It would answer 404 for what is lost; another one reads the file when it starts.
      this.#tell.log({ level: 'error', error: String(error) })
      this.#tell.end()
    }
  }

  async #measure(number: number): Promise<void> {
    try {
      say({ did: 'measure', number, samples: await this.#objects.samples() })
    } catch (error) {
      // Nobody waits for it for long, and serving is not touched.
      this.#tell.log({ level: 'warn', error: String(error) })
    }
  }

  #reopen(): void {
    try {
      this.#objects.reopen()
    } catch (error) {
      // It goes on with the file that it has.
      this.#tell.log({ level: 'error', error: String(error) })
    }
  }

  async #renew(certificate: Certificate): Promise<void> {
    try {
      await this.#objects.renew(certificate)
    } catch (error) {
      // It may not listen any more; whoever takes its place does.
      this.#tell.log({ level: 'error', error: String(error) })
      this.#tell.end()
    }
  }

  async #stop(): Promise<void> {
    try {
      await this.#objects.close()
      await this.#parts.close()
      process.exit(0)
    } catch (error) {
      this.#tell.log({ level: 'error', error: String(error) })
      process.exit(1)
    }
  }
}

/** `configured`: called before anything is told, once it is known how. */
export function runWorker(tell: Log, configured: (config: Config) => void): void {
  relaxCollector()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => process.exit(1))
  let running: Promise<WorkerProcess> | undefined
  process.on('message', (message: ToWorker) => {
    // Also while it is starting, which may take its time.
    if (message.do === 'beat') {
      say({ did: 'beat' })
      return
    }
    if (message.do !== 'work') {
      // In the order in which they were sent; before it is at work it has nobody inside and nothing in flight.
      void running?.then(worker => worker.hear(message))
      return
    }
    configured(message.assignment.config)
    running = WorkerProcess.start(message.assignment, tell)
    running.then(
      () => say({ did: 'listen' }),
      (error: unknown) => {
        say({ did: 'fail', why: error instanceof Error ? error.message : String(error) })
        tell.end()
      },
    )
  })
  say({ did: 'come' })
}
