/**
 * Copies and moves of this tab. They go on while pages change, until they are done or stopped. Without a session they
 * wait until the same person has signed in again.
 */
import { ApiFailure } from '../api/failure.ts'
import { whenPersonLeaves } from '../api/leaving.ts'
import { suspension } from '../api/suspension.ts'
import { failureText } from '../parts/failure-text.ts'
import { ThrottledChanges } from '../parts/throttled-changes.ts'
import { pause } from '../uploads/transfer.ts'
import { type CopyPlan, type CopyTask, runTask } from './copy-plan.ts'

export interface FailedCopy {
  readonly task: CopyTask
  readonly message: string
  readonly requestId: string | undefined
}

export interface CopyJob {
  readonly id: number
  readonly plan: CopyPlan
  readonly state: 'running' | 'stopped' | 'done'
  readonly done: number
  readonly doneBytes: number
  readonly skipped: number
  /** The first object told that ACLs do not apply there, which the dialog could not know. */
  readonly isWithoutAcl: boolean
  readonly failed: readonly FailedCopy[]
}

interface Work {
  view: CopyJob
  /** Tasks that were not begun, the next one last. */
  readonly left: CopyTask[]
  /** The list in the view, which grows without being copied. */
  failed: FailedCopy[]
  stop: AbortController
  /** Aborted when the person who began it leaves: the next request would be signed for somebody else. */
  readonly leaving: AbortController
}

/** A browser opens six connections to a server; some are left for the rest of the page. */
const AT_ONCE = 4
const ATTEMPTS_MAX = 5
const RETRY_MS = 500

async function attempts(work: Work, task: CopyTask): Promise<boolean> {
  const { stop, leaving } = work
  for (let attempt = 1; ; attempt++) {
    const { plan } = work.view
    try {
      return await runTask(plan, task, leaving.signal)
    } catch (error) {
      if (!(error instanceof ApiFailure) || attempt >= ATTEMPTS_MAX) throw error
      if (error.code === 'AccessControlListNotSupported' && plan.keepsAcl) {
        work.view = { ...work.view, plan: { ...plan, keepsAcl: false }, isWithoutAcl: true }
        continue
      }
      const wait = (error.retryAfterSeconds ?? 0) * 1000 || RETRY_MS * 2 ** attempt
      if (error.status === 401) await suspension.over(stop.signal)
      else if (error.isTemporary) await pause(wait, stop.signal)
      else throw error
    }
  }
}

class CopyJobs {
  readonly #works = new Map<number, Work>()
  readonly #changes = new ThrottledChanges()
  readonly #endListeners = new Set<(job: CopyJob) => void>()
  #snapshot: readonly CopyJob[] = []
  #nextId = 1

  readonly subscribe = this.#changes.subscribe
  readonly snapshot = (): readonly CopyJob[] => this.#snapshot

  /** Called whenever a job is done or has stopped. */
  onEnd(listener: (job: CopyJob) => void): () => void {
    this.#endListeners.add(listener)
    return () => this.#endListeners.delete(listener)
  }

  get isBusy(): boolean {
    return [...this.#works.values()].some(({ view }) => view.state === 'running')
  }

  start(plan: CopyPlan): void {
    const id = this.#nextId++
    const failed: FailedCopy[] = []
    const counts = { done: 0, doneBytes: 0, skipped: 0, failed }
    const view: CopyJob = { id, plan, state: 'running', isWithoutAcl: false, ...counts }
    const left = plan.objects.map(({ key, size }): CopyTask => ({ key, size })).reverse()
    const work: Work = { view, left, failed, stop: new AbortController(), leaving: new AbortController() }
    this.#works.set(id, work)
    void this.#run(work)
  }

  /** Ends it after the objects that are on their way: no request is cut off, so that nothing is left half done. */
  stop(id: number): void {
    this.#works.get(id)?.stop.abort()
  }

  /** Goes on with what is left and tries again what failed. */
  resume(id: number): void {
    const work = this.#works.get(id)
    if (work === undefined || work.view.state === 'running') return
    for (const { task } of work.view.failed.toReversed()) work.left.push(task)
    work.failed = []
    work.stop = new AbortController()
    this.#update(work, { failed: work.failed, state: 'running' })
    void this.#run(work)
  }

  /** Takes a job that ended off the list. */
  remove(id: number): void {
    this.#works.delete(id)
    this.#changed()
  }

  clear(): void {
    for (const { stop, leaving } of this.#works.values()) {
      stop.abort()
      leaving.abort()
    }
    this.#works.clear()
    this.#changed()
  }

  async #run(work: Work): Promise<void> {
    this.#changed()
    await Promise.all(Array.from({ length: AT_ONCE }, () => this.#runTasks(work)))
    this.#update(work, { state: work.left.length === 0 ? 'done' : 'stopped' })
    for (const listener of this.#endListeners) listener(work.view)
  }

  async #runTasks(work: Work): Promise<void> {
    const { left, stop } = work
    while (!stop.signal.aborted) {
      const task = left.pop()
      if (task === undefined) return
      try {
        const isDone = await attempts(work, task)
        const { done, doneBytes, skipped } = work.view
        if (isDone) this.#update(work, { done: done + 1, doneBytes: doneBytes + task.size })
        else this.#update(work, { skipped: skipped + 1 })
      } catch (error) {
        if (stop.signal.aborted && error instanceof DOMException) left.push(task)
        else this.#failed(work, task, error)
      }
    }
  }

  #failed(work: Work, task: CopyTask, error: unknown): void {
    const requestId = error instanceof ApiFailure ? error.requestId : undefined
    work.failed.push({ task, message: failureText(error).message, requestId })
    this.#update(work, {})
  }

  #update(work: Work, change: Partial<CopyJob>): void {
    work.view = { ...work.view, ...change }
    this.#changed()
  }

  #changed(): void {
    this.#changes.changed(() => {
      this.#snapshot = [...this.#works.values()].map(({ view }) => view)
    })
  }
}

export const copyJobs = new CopyJobs()
whenPersonLeaves(() => copyJobs.clear())
