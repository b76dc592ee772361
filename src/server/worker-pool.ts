/**
 * The workers of a supervisor: starts them, replaces one that exits, broadcasts requests to them, and stops them. For
 * the reclamation barrier it represents the other processes of the folder.
 */
import cluster, { type Worker as Child } from 'node:cluster'
import type { ServingProcess } from '../admin/route.ts'
import { WRITER_BYTES } from '../lib/ids.ts'
import { systemRandom } from '../lib/random.ts'
import { SHARES_LISTEN_SOCKET } from '../lib/runtime.ts'
import type { Epoch, EpochKind, PeerProcesses, WriterLookup } from '../store/reclaim/reclamation-barrier.ts'
import { cumulativeSamples, mergeSamples, type Sample } from '../telemetry/families.ts'
import { CrashLoopGuard, QUICK_EXITS_MAX, type WorkerExit } from './crash-loop-guard.ts'
import { closeUnacceptedHandles } from './handle-transfer.ts'
import { Heartbeat, MISSED_BEATS_MAX } from './heartbeat.ts'
import type { Logger } from './log.ts'
import type { ToSupervisor, ToWorker, WorkerAssignment } from './messages.ts'
import { processShown } from './shown-settings.ts'
import { isStopped, STOPPED_CHECK_MS, StoppedProcesses } from './stopped-processes.ts'

/** How long a scrape waits for the samples of a worker. */
const METRICS_WAIT_MS_MAX = 2_000

interface WorkerPoolParts {
  readonly logger: Logger
  admit(writer: Buffer): Promise<void>
  dismiss(writer: Buffer): Promise<void>
  assignment(writer: string): WorkerAssignment
  /** A worker that misses heartbeats for this long is killed and replaced. */
  readonly heartbeatTimeoutMs: number
  /** A worker has exited and can commit nothing any more. */
  onWorkerExit(): void
}

interface PoolWorker {
  readonly child: Child
  readonly writer: Buffer
  readonly startedAt: number
  /** It has listened at some time. */
  hasServed: boolean
  /** It has received its assignment, so it may read and write. */
  isAssigned: boolean
  isListening: boolean
  /** Its samples as of the last scrape. */
  samples: readonly Sample[]
}

interface Broadcast {
  /** Workers that have not replied. */
  readonly missing: Set<PoolWorker>
  answered?: () => void
}

export class WorkerPool implements PeerProcesses {
  readonly #workers = new Set<PoolWorker>()
  /** Broadcasts that not every worker has replied to, by number. */
  readonly #broadcasts = new Map<number, Broadcast>()
  #lastBroadcast = 0
  readonly #crashLoop = new CrashLoopGuard()
  #restarts = 0
  readonly #heartbeat = new Heartbeat<PoolWorker>()
  #heartbeatMs = 0
  #heartbeatTimer: NodeJS.Timeout | undefined
  readonly #stopped = new StoppedProcesses<PoolWorker>()
  #stoppedTimer: NodeJS.Timeout | undefined
  /** Workers killed because they did not respond. */
  #unresponsive = 0
  /** Counters of exited workers. */
  #exitedCounters: readonly Sample[] = []
  #onAllExited: (() => void) | undefined
  /** Exited workers are replaced: only after all have listened once, and not during shutdown. */
  #replacing = false
  /** Replacements of workers that exited before all had listened. */
  #pendingReplacements: (() => void)[] = []
  #ending = false

  epoch(of: EpochKind): Epoch {
    const { missing } = this.#broadcast(number => ({ do: 'drain', of, number }))
    return { hasPassed: () => missing.size === 0 }
  }

  /** Workers free nothing. */
  async holdReclamation(): Promise<() => void> {
    return () => {}
  }

  reloadKeys(): Promise<void> {
    return this.#askAll(number => ({ do: 'reload keys', number }))
  }

  reloadFindings(): Promise<void> {
    return this.#askAll(number => ({ do: 'reload findings', number }))
  }

  #askAll(message: (number: number) => ToWorker): Promise<void> {
    return new Promise(resolve => {
      const broadcast = this.#broadcast(message)
      if (broadcast.missing.size === 0) resolve()
      else broadcast.answered = resolve
    })
  }

  /** Every assigned worker replies or exits; one that starts later finds the new state. */
  #broadcast(message: (number: number) => ToWorker): Broadcast {
    const number = ++this.#lastBroadcast
    const broadcast: Broadcast = { missing: new Set([...this.#workers].filter(({ isAssigned }) => isAssigned)) }
    if (broadcast.missing.size > 0) this.#broadcasts.set(number, broadcast)
    for (const worker of broadcast.missing) send(worker, message(number))
    return broadcast
  }

  /** Samples of all workers. One that does not reply in time contributes its last samples. */
  async samples(): Promise<Sample[]> {
    await new Promise<void>(resolve => {
      const broadcast = this.#broadcast(number => ({ do: 'metrics', number }))
      if (broadcast.missing.size === 0) return resolve()
      const timer = setTimeout(resolve, METRICS_WAIT_MS_MAX)
      broadcast.answered = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    const own: Sample[] = [
      ['holdfast_worker_restarts_total', '', this.#restarts],
      ['holdfast_workers_unresponsive_total', '', this.#unresponsive],
      ['holdfast_worker_silence_seconds', '', (this.#heartbeat.longestMissed * this.#heartbeatMs) / 1000],
    ]
    return mergeSamples([...own, ...this.#exitedCounters, ...[...this.#workers].flatMap(({ samples }) => samples)])
  }

  async processes(): Promise<ServingProcess[]> {
    await this.samples()
    return [...this.#workers].map(workerShown)
  }

  async writers(): Promise<WriterLookup> {
    return writer => [...this.#workers].some(worker => worker.writer.equals(writer))
  }

  get isListening(): boolean {
    return [...this.#workers].some(worker => worker.isListening)
  }

  /** Resolves when all workers listen; rejects when one cannot. */
  async start(count: number, parts: WorkerPoolParts): Promise<void> {
    // No worker serves on without its supervisor.
    process.once('exit', () => this.#kill())
    this.#heartbeatMs = parts.heartbeatTimeoutMs / MISSED_BEATS_MAX
    this.#heartbeatTimer = setInterval(() => this.checkHeartbeats(parts.logger), this.#heartbeatMs).unref()
    if (!SHARES_LISTEN_SOCKET)
      this.#stoppedTimer = setInterval(() => this.killStopped(parts.logger), STOPPED_CHECK_MS).unref()
    await Promise.all(Array.from({ length: count }, () => this.#add(parts)))
    this.#replacing = true
    for (const replace of this.#pendingReplacements.splice(0)) replace()
  }

  /**
   * Sends heartbeats. A stuck worker blocks everything that waits for all workers, such as reclaiming and changes of
   * keys, so it is killed, which loses nothing that was acknowledged.
   */
  checkHeartbeats(logger: Logger): void {
    const assigned = [...this.#workers].filter(worker => worker.isAssigned)
    for (const worker of this.#heartbeat.step(assigned, one => send(one, { do: 'heartbeat' }))) {
      this.#unresponsive++
      const silenceSeconds = (this.#heartbeatMs * MISSED_BEATS_MAX) / 1000
      const error = `the worker has not responded for ${silenceSeconds} s and is replaced`
      logger.log({ level: 'error', worker: worker.child.process.pid, error })
      kill(worker)
    }
  }

  /** Clients whose connections the kernel gives to a stopped worker would wait until its heartbeat times out. */
  killStopped(logger: Logger): void {
    const listening = [...this.#workers].filter(worker => worker.isListening)
    for (const worker of this.#stopped.step(listening, ({ child }) => isStopped(child.process.pid))) {
      this.#unresponsive++
      const error = 'the worker is stopped by a signal while connections wait for it, and is replaced'
      logger.log({ level: 'error', worker: worker.child.process.pid, error })
      kill(worker)
    }
  }

  /** Resolves when it listens. */
  async #add(parts: WorkerPoolParts): Promise<void> {
    const writer = systemRandom.bytes(WRITER_BYTES)
    await exitOnError(parts.logger, parts.admit(writer))
    if (this.#ending) throw new Error('the server is shutting down')
    const child = this.#fork(parts)
    closeUnacceptedHandles(child.process)
    const worker: PoolWorker = {
      child,
      writer,
      startedAt: performance.now(),
      hasServed: false,
      isAssigned: false,
      isListening: false,
      samples: [],
    }
    this.#workers.add(worker)
    await new Promise<void>((resolve, reject) => {
      const gone = (why: string): void => {
        reject(new Error(`a worker exited with ${why} before it could serve`))
        this.#onExit(worker, why, parts).catch(() => {})
      }
      child.on('message', (message: ToSupervisor) => this.#onMessage(worker, message, { parts, resolve, reject }))
      child.once('exit', (code, signal) => gone(signal ?? String(code)))
      // Also emitted when a message to an exiting worker fails; its exit event follows.
      child.on('error', error => {
        if (child.process.pid === undefined) gone(error.message)
      })
    })
  }

  /** Most fork failures are reported later by the child; only a lack of memory is thrown. */
  #fork(parts: WorkerPoolParts): Child {
    try {
      return cluster.fork()
    } catch (error) {
      if (this.#replacing) this.#addAfterExit({ ms: 0, hasServed: false, wasKilled: true }, parts)
      throw error
    }
  }

  #onMessage(
    worker: PoolWorker,
    message: ToSupervisor,
    { parts, resolve, reject }: { parts: WorkerPoolParts; resolve: () => void; reject: (error: Error) => void },
  ): void {
    switch (message.did) {
      case 'start':
        this.#assign(worker, parts)
        return
      case 'listen':
        worker.hasServed = true
        worker.isListening = true
        resolve()
        return
      case 'fail':
        reject(new Error(message.why))
        return
      case 'heartbeat':
        this.#heartbeat.settle(worker)
        return
      case 'finish':
        this.#settle(worker, message.number)
        return
      case 'metrics':
        worker.samples = message.samples
        this.#settle(worker, message.number)
    }
  }

  #assign(worker: PoolWorker, parts: WorkerPoolParts): void {
    if (this.#ending) {
      kill(worker)
      return
    }
    worker.isAssigned = true
    send(worker, { do: 'assign', assignment: parts.assignment(worker.writer.toString('hex')) })
  }

  #settle(worker: PoolWorker, number: number): void {
    const broadcast = this.#broadcasts.get(number)
    broadcast?.missing.delete(worker)
    if (broadcast?.missing.size !== 0) return
    this.#broadcasts.delete(number)
    broadcast.answered?.()
  }

  async #onExit(worker: PoolWorker, why: string, parts: WorkerPoolParts): Promise<void> {
    worker.isListening = false
    // Once its fence is removed, none of its commits can take effect.
    await exitOnError(parts.logger, parts.dismiss(worker.writer))
    this.#workers.delete(worker)
    this.#heartbeat.settle(worker)
    // Its counters are kept, so that totals never decrease.
    this.#exitedCounters = mergeSamples([...this.#exitedCounters, ...cumulativeSamples(worker.samples)])
    for (const number of this.#broadcasts.keys()) this.#settle(worker, number)
    if (this.#workers.size === 0) this.#onAllExited?.()
    parts.onWorkerExit()
    if (this.#replacing) this.#replace(worker, why, parts)
    else if (!this.#ending) this.#pendingReplacements.push(() => this.#replace(worker, why, parts))
  }

  #replace({ startedAt, hasServed, child }: PoolWorker, why: string, parts: WorkerPoolParts): void {
    this.#restarts++
    parts.logger.log({ level: 'error', worker: child.process.pid, error: `the worker exited with ${why}` })
    // A worker that could not be forked for lack of memory says nothing about the next one.
    const wasKilled = why === 'SIGKILL' || child.process.pid === undefined
    this.#addAfterExit({ ms: performance.now() - startedAt, hasServed, wasKilled }, parts)
  }

  /** Starts a replacement after the delay that the exit calls for. */
  #addAfterExit(life: WorkerExit, parts: WorkerPoolParts): void {
    const { logger } = parts
    const pause = this.#crashLoop.restartDelayMs(life)
    if (pause === undefined) {
      const message = `${QUICK_EXITS_MAX} workers in a row exited soon after their start: giving up`
      logger.log({ level: 'error', message })
      logger.abort()
      return
    }
    setTimeout(() => {
      if (this.#replacing) this.#add(parts).catch(error => logger.log({ level: 'error', error: String(error) }))
    }, pause)
  }

  broadcast(message: ToWorker): void {
    for (const worker of this.#workers) send(worker, message)
  }

  /** Stops accepting connections and finishes requests in flight; resolves when all workers have exited. */
  stop(): Promise<void> {
    this.#end()
    for (const worker of this.#workers) {
      if (worker.isAssigned) send(worker, { do: 'stop' })
      else kill(worker)
    }
    return this.#waitForExits()
  }

  /** Kills all workers at once. */
  abort(): Promise<void> {
    this.#end()
    this.#kill()
    return this.#waitForExits()
  }

  #end(): void {
    this.#replacing = false
    this.#ending = true
  }

  async #waitForExits(): Promise<void> {
    await new Promise<void>(resolve => {
      this.#onAllExited = resolve
      if (this.#workers.size === 0) resolve()
    })
    // Heartbeats run until then, since a stuck worker does not receive the request to stop.
    clearInterval(this.#heartbeatTimer)
    clearInterval(this.#stoppedTimer)
  }

  #kill(): void {
    for (const worker of this.#workers) kill(worker)
  }
}

/** When it is unknown which processes may commit, nothing is safe to free and this process must exit. */
async function exitOnError(logger: Logger, change: Promise<void>): Promise<void> {
  try {
    await change
  } catch (error) {
    logger.log({ level: 'error', error: String(error) })
    logger.abort()
    throw error
  }
}

const kill = ({ child }: PoolWorker): void => void child.process.kill('SIGKILL')

function send({ child }: PoolWorker, message: ToWorker): void {
  try {
    child.send(message, () => {})
  } catch {
    // The worker is exiting; its exit event follows.
  }
}

function workerShown({ child, startedAt, isListening, samples }: PoolWorker): ServingProcess {
  const wallTime = performance.timeOrigin + startedAt
  return processShown(samples, { pid: child.process.pid ?? 0, startedAt: wallTime, listening: isListening })
}
