/**
 * The workers of a supervisor: starts them, replaces one that dies, asks them who is inside, and ends them. To those
 * who free bytes it is the other processes of the folder; nobody else knows that they are children of this one.
 */
import cluster, { type Worker as Child } from 'node:cluster'
import { WRITER_BYTES } from '../lib/ids.ts'
import { systemRandom } from '../lib/random.ts'
import { SHARES_LISTEN_SOCKET } from '../lib/runtime.ts'
import type { Epoch, EpochKind, PeerProcesses } from '../store/reclaim/reclamation-barrier.ts'
import { countSamples, merged, type Sample } from '../telemetry/families.ts'
import { CrashLoopGuard, QUICK_EXITS_MAX, type WorkerExit } from './crash-loop-guard.ts'
import { closeUnacceptedHandles } from './handle-transfer.ts'
import { Heartbeat, MISSED_BEATS_MAX } from './heartbeat.ts'
import type { Log } from './log.ts'
import type { ToSupervisor, ToWorker, WorkerAssignment } from './messages.ts'
import { isStopped, LOOK_MS, StoppedProcesses } from './stopped-processes.ts'

/** So long whoever asks for measures waits for a worker. */
const MEASURE_MS_MAX = 2_000

export interface WorkerPoolParts {
  readonly tell: Log
  admit(writer: Buffer): Promise<void>
  dismiss(writer: Buffer): Promise<void>
  assignment(writer: string): WorkerAssignment
  /** A worker that does not answer for so long is ended and replaced. */
  readonly silenceMsMax: number
  /** A worker has died, and nothing that it began can take effect any more. */
  onDeath(): void
}

interface Member {
  readonly child: Child
  readonly writer: Buffer
  readonly bornAt: number
  /** It has come so far as to listen, whatever became of it. */
  hasServed: boolean
  /** It has its assignment: from now on it may read and write. */
  atWork: boolean
  isListening: boolean
  /** What it measured when it was last asked. */
  samples: readonly Sample[]
}

interface Question {
  /** Who has not answered. */
  readonly missing: Set<Member>
  answered?: () => void
}

export class WorkerPool implements PeerProcesses {
  readonly #members = new Set<Member>()
  /** Those that are not answered by everybody yet. */
  readonly #questions = new Map<number, Question>()
  #lastQuestion = 0
  readonly #shortLives = new CrashLoopGuard()
  #restarts = 0
  readonly #pulse = new Heartbeat<Member>()
  #beatMs = 0
  #beating: NodeJS.Timeout | undefined
  readonly #stopped = new StoppedProcesses<Member>()
  #looking: NodeJS.Timeout | undefined
  /** Workers that were ended because they did not answer. */
  #silenced = 0
  /** What was counted by those who are gone. */
  #departed: readonly Sample[] = []
  #allEnded: (() => void) | undefined
  /** The dead are replaced: not before all were there once, and not any more when they shall end. */
  #replacing = false
  /** What is to be done then about those that served already, and died before all were there. */
  #missed: (() => void)[] = []
  #ending = false

  epoch(of: EpochKind): Epoch {
    const { missing } = this.#ask(number => ({ do: 'line', of, number }))
    return { hasPassed: () => missing.size === 0 }
  }

  reloadKeys(): Promise<void> {
    return this.#passed(number => ({ do: 'reload keys', number }))
  }

  reloadFindings(): Promise<void> {
    return this.#passed(number => ({ do: 'reload findings', number }))
  }

  #passed(message: (number: number) => ToWorker): Promise<void> {
    return new Promise(resolve => {
      const question = this.#ask(message)
      if (question.missing.size === 0) resolve()
      else question.answered = resolve
    })
  }

  /** Everybody who is at work answers, or dies; who comes later finds things as they are now. */
  #ask(message: (number: number) => ToWorker): Question {
    const number = ++this.#lastQuestion
    const question: Question = { missing: new Set([...this.#members].filter(({ atWork }) => atWork)) }
    if (question.missing.size > 0) this.#questions.set(number, question)
    for (const member of question.missing) send(member, message(number))
    return question
  }

  /** What all of them measure. One that does not answer in time is as it last said. */
  async samples(): Promise<Sample[]> {
    await new Promise<void>(resolve => {
      const question = this.#ask(number => ({ do: 'measure', number }))
      if (question.missing.size === 0) return resolve()
      const timer = setTimeout(resolve, MEASURE_MS_MAX)
      question.answered = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    const own: Sample[] = [
      ['holdfast_worker_restarts_total', '', this.#restarts],
      ['holdfast_workers_unresponsive_total', '', this.#silenced],
      ['holdfast_worker_silence_seconds', '', (this.#pulse.longest * this.#beatMs) / 1000],
    ]
    return merged([...own, ...this.#departed, ...[...this.#members].flatMap(({ samples }) => samples)])
  }

  isWriter(writer: Buffer): boolean {
    return [...this.#members].some(member => member.writer.equals(writer))
  }

  get isListening(): boolean {
    return [...this.#members].some(member => member.isListening)
  }

  /** Resolves when all of them listen; whatever keeps one from it ends the start. */
  async start(count: number, parts: WorkerPoolParts): Promise<void> {
    // However this process ends: nobody serves on without it.
    process.once('exit', () => this.#kill())
    this.#beatMs = parts.silenceMsMax / MISSED_BEATS_MAX
    this.#beating = setInterval(() => this.beat(parts.tell), this.#beatMs).unref()
    if (!SHARES_LISTEN_SOCKET) this.#looking = setInterval(() => this.endStopped(parts.tell), LOOK_MS).unref()
    await Promise.all(Array.from({ length: count }, () => this.#add(parts)))
    this.#replacing = true
    for (const replace of this.#missed.splice(0)) replace()
  }

  /**
   * Asks the workers whether they are there. One that stands still holds up everything that waits for all of them,
   * reclaiming and changes of keys: it is ended, which loses nothing that was acknowledged.
   */
  beat(tell: Log): void {
    const atWork = [...this.#members].filter(member => member.atWork)
    for (const member of this.#pulse.step(atWork, one => send(one, { do: 'beat' }))) {
      this.#silenced++
      const silentSeconds = (this.#beatMs * MISSED_BEATS_MAX) / 1000
      const error = `the worker has not answered for ${silentSeconds} s: it is ended and replaced`
      tell.log({ level: 'error', worker: member.child.process.pid, error })
      end(member)
    }
  }

  /** Clients that the kernel gave to a stopped worker would wait for as long as everything else can wait for it. */
  endStopped(tell: Log): void {
    const listening = [...this.#members].filter(member => member.isListening)
    for (const member of this.#stopped.step(listening, ({ child }) => isStopped(child.process.pid))) {
      this.#silenced++
      const error = 'the worker is stopped by a signal, and connections wait for it: it is ended and replaced'
      tell.log({ level: 'error', worker: member.child.process.pid, error })
      end(member)
    }
  }

  /** Resolves when it listens. */
  async #add(parts: WorkerPoolParts): Promise<void> {
    const writer = systemRandom.bytes(WRITER_BYTES)
    await orEnd(parts.tell, parts.admit(writer))
    if (this.#ending) throw new Error('the server is ending')
    const child = this.#fork(parts)
    closeUnacceptedHandles(child.process)
    const member: Member = {
      child,
      writer,
      bornAt: performance.now(),
      hasServed: false,
      atWork: false,
      isListening: false,
      samples: [],
    }
    this.#members.add(member)
    await new Promise<void>((resolve, reject) => {
      const gone = (why: string): void => {
        reject(new Error(`a worker ended with ${why} before it could serve`))
        this.#bury(member, why, parts).catch(() => {})
      }
      child.on('message', (message: ToSupervisor) => this.#hear(member, message, { parts, resolve, reject }))
      child.once('exit', (code, signal) => gone(signal ?? String(code)))
      // Also told when a message to one that is dying fails: then its exit follows.
      child.on('error', error => {
        if (child.process.pid === undefined) gone(error.message)
      })
    })
  }

  /** Most of what keeps a process from being made is told later, by the child; want of memory is thrown. */
  #fork(parts: WorkerPoolParts): Child {
    try {
      return cluster.fork()
    } catch (error) {
      if (this.#replacing) this.#addAfter({ ms: 0, hasServed: false, wasKilled: true }, parts)
      throw error
    }
  }

  #hear(
    member: Member,
    message: ToSupervisor,
    { parts, resolve, reject }: { parts: WorkerPoolParts; resolve: () => void; reject: (error: Error) => void },
  ): void {
    switch (message.did) {
      case 'come':
        this.#assign(member, parts)
        return
      case 'listen':
        member.hasServed = true
        member.isListening = true
        resolve()
        return
      case 'fail':
        reject(new Error(message.why))
        return
      case 'beat':
        this.#pulse.settle(member)
        return
      case 'pass':
        this.#pass(member, message.number)
        return
      case 'measure':
        member.samples = message.samples
        this.#pass(member, message.number)
    }
  }

  #assign(member: Member, parts: WorkerPoolParts): void {
    if (this.#ending) {
      end(member)
      return
    }
    member.atWork = true
    send(member, { do: 'work', assignment: parts.assignment(member.writer.toString('hex')) })
  }

  #pass(member: Member, number: number): void {
    const question = this.#questions.get(number)
    question?.missing.delete(member)
    if (question?.missing.size !== 0) return
    this.#questions.delete(number)
    question.answered?.()
  }

  async #bury(member: Member, why: string, parts: WorkerPoolParts): Promise<void> {
    member.isListening = false
    // Only then nothing that it began can take effect any more.
    await orEnd(parts.tell, parts.dismiss(member.writer))
    this.#members.delete(member)
    this.#pulse.settle(member)
    // What it counted still happened: totals never go back.
    this.#departed = merged([...this.#departed, ...countSamples(member.samples)])
    for (const number of this.#questions.keys()) this.#pass(member, number)
    if (this.#members.size === 0) this.#allEnded?.()
    parts.onDeath()
    if (this.#replacing) this.#replace(member, why, parts)
    else if (!this.#ending) this.#missed.push(() => this.#replace(member, why, parts))
  }

  #replace({ bornAt, hasServed, child }: Member, why: string, parts: WorkerPoolParts): void {
    this.#restarts++
    parts.tell.log({ level: 'error', worker: child.process.pid, error: `the worker ended with ${why}` })
    // One for which there was no room never was: that says nothing about the next either.
    const wasKilled = why === 'SIGKILL' || child.process.pid === undefined
    this.#addAfter({ ms: performance.now() - bornAt, hasServed, wasKilled }, parts)
  }

  /** Another one, for one whose life was like that. */
  #addAfter(life: WorkerExit, parts: WorkerPoolParts): void {
    const { tell } = parts
    const pause = this.#shortLives.pauseAfter(life)
    if (pause === undefined) {
      const message = `${QUICK_EXITS_MAX} workers in a row ended soon after their start: giving up`
      tell.log({ level: 'error', message })
      tell.end()
      return
    }
    setTimeout(() => {
      if (this.#replacing) this.#add(parts).catch(error => tell.log({ level: 'error', error: String(error) }))
    }, pause)
  }

  tellAll(message: ToWorker): void {
    for (const member of this.#members) send(member, message)
  }

  /** No new connections, what is in flight is finished; resolves when all have ended. */
  stop(): Promise<void> {
    this.#end()
    for (const member of this.#members) {
      if (member.atWork) send(member, { do: 'stop' })
      else end(member)
    }
    return this.#gone()
  }

  /** At once, whatever they are doing. */
  abort(): Promise<void> {
    this.#end()
    this.#kill()
    return this.#gone()
  }

  #end(): void {
    this.#replacing = false
    this.#ending = true
  }

  async #gone(): Promise<void> {
    await new Promise<void>(resolve => {
      this.#allEnded = resolve
      if (this.#members.size === 0) resolve()
    })
    // Until then: one that stands still does not hear that it shall stop.
    clearInterval(this.#beating)
    clearInterval(this.#looking)
  }

  #kill(): void {
    for (const member of this.#members) end(member)
  }
}

/** Without knowing who may commit, nothing is safe to free: there is nothing left to do here. */
async function orEnd(tell: Log, change: Promise<void>): Promise<void> {
  try {
    await change
  } catch (error) {
    tell.log({ level: 'error', error: String(error) })
    tell.end()
    throw error
  }
}

const end = ({ child }: Member): void => void child.process.kill('SIGKILL')

function send({ child }: Member, message: ToWorker): void {
  try {
    child.send(message, () => {})
  } catch {
    // As with a message that fails later: its exit follows.
  }
}
