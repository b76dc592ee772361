/** Uploads of this tab. They go on while pages change, one or two files at a time. */
import { ApiFailure } from '../api/failure.ts'
import { whenPersonLeaves, whenPersonReturns } from '../api/leaving.ts'
import { ThrottledChanges } from '../parts/throttled-changes.ts'
import { texts } from '../texts/texts.ts'
import { MULTIPART_BYTES_MIN, MultipartUpload } from './multipart.ts'
import { pause, transfer } from './transfer.ts'

export type UploadState = 'waiting' | 'sending' | 'paused' | 'done' | 'failed'

export interface Upload {
  readonly id: number
  readonly bucket: string
  readonly key: string
  readonly size: number
  readonly state: UploadState
  readonly sentBytes: number
  readonly error: unknown
}

interface Task {
  view: Upload
  readonly file: File
  readonly multipart: MultipartUpload | undefined
  stop: AbortController
}

const FILES_AT_ONCE = 2
const ATTEMPTS_MAX = 6
const RETRY_MS = 500
const RETRY_MS_MAX = 15_000

const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError'

/** Files stay on the disk of the person, who may change them before they were read. */
const UNREADABLE: readonly string[] = ['NotFoundError', 'NotReadableError']

const explained = (error: unknown): unknown =>
  error instanceof DOMException && UNREADABLE.includes(error.name) ? new Error(texts.uploads.unreadable) : error

class UploadQueue {
  readonly #tasks = new Map<number, Task>()
  readonly #changes = new ThrottledChanges()
  readonly #doneListeners = new Set<(bucket: string) => void>()
  #snapshot: readonly Upload[] = []
  #nextId = 1

  readonly subscribe = this.#changes.subscribe

  readonly snapshot = (): readonly Upload[] => this.#snapshot

  /** Called whenever a file has arrived. */
  onDone(listener: (bucket: string) => void): () => void {
    this.#doneListeners.add(listener)
    return () => this.#doneListeners.delete(listener)
  }

  /** `accessKey` is the key of the session: only it goes on with uploads that an earlier page began. */
  add(
    { bucket, accessKey }: { readonly bucket: string; readonly accessKey: string },
    files: readonly { readonly key: string; readonly file: File }[],
  ): void {
    for (const { key, file } of files) {
      const id = this.#nextId++
      const view: Upload = { id, bucket, key, size: file.size, state: 'waiting', sentBytes: 0, error: undefined }
      const isLarge = file.size >= MULTIPART_BYTES_MIN
      const multipart = isLarge ? new MultipartUpload({ bucket, key, accessKey, file }) : undefined
      this.#tasks.set(id, { view, file, multipart, stop: new AbortController() })
    }
    this.#changed()
    this.#startNext()
  }

  pause(id: number): void {
    const task = this.#tasks.get(id)
    if (task === undefined || (task.view.state !== 'sending' && task.view.state !== 'waiting')) return
    this.#update(task, { state: 'paused' })
    task.stop.abort()
  }

  /** Also retries what failed. */
  resume(id: number): void {
    const task = this.#tasks.get(id)
    if (task === undefined || (task.view.state !== 'paused' && task.view.state !== 'failed')) return
    task.stop = new AbortController()
    this.#update(task, { state: 'waiting', error: undefined })
    this.#startNext()
  }

  /** Goes on with what failed because the session had ended. */
  resumeEnded(): void {
    for (const [id, { view }] of this.#tasks) {
      if (view.error instanceof ApiFailure && view.error.status === 401) this.resume(id)
    }
  }

  /** Ends an upload and frees what arrived of it; removes a finished one from the list. */
  cancel(id: number): void {
    const task = this.#tasks.get(id)
    if (task === undefined) return
    this.#tasks.delete(id)
    task.stop.abort()
    // Parts that cannot be freed now are freed by the bucket's rule for incomplete uploads.
    if (task.view.state !== 'done') void task.multipart?.abort().catch(() => {})
    this.#changed()
    this.#startNext()
  }

  clearDone(): void {
    for (const [id, { view }] of this.#tasks) if (view.state === 'done') this.#tasks.delete(id)
    this.#changed()
  }

  /** Stops everything. What arrived of a large file stays until it is aborted or the bucket's rule frees it. */
  clear(): void {
    for (const { stop } of this.#tasks.values()) stop.abort()
    this.#tasks.clear()
    this.#changed()
  }

  get isBusy(): boolean {
    return [...this.#tasks.values()].some(({ view }) => view.state === 'sending' || view.state === 'waiting')
  }

  #startNext(): void {
    const tasks = [...this.#tasks.values()]
    const free = FILES_AT_ONCE - tasks.filter(({ view }) => view.state === 'sending').length
    for (const task of tasks.filter(({ view }) => view.state === 'waiting').slice(0, Math.max(0, free))) {
      this.#update(task, { state: 'sending' })
      void this.#run(task).finally(() => this.#startNext())
    }
  }

  async #run(task: Task): Promise<void> {
    const { signal } = task.stop
    try {
      await this.#attempts(task, signal)
      this.#update(task, { state: 'done', sentBytes: task.view.size })
      for (const listener of this.#doneListeners) listener(task.view.bucket)
    } catch (error) {
      // A pause has set the state already, and a resumed task belongs to its new run.
      if (!isAbort(error) && !signal.aborted) this.#update(task, { state: 'failed', error: explained(error) })
    }
  }

  /** A worker that is replaced or a short loss of the network costs a few tries, not the upload. */
  async #attempts(task: Task, signal: AbortSignal): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const before = task.view.sentBytes
      try {
        return await this.#send(task, signal)
      } catch (error) {
        const isTemporary = error instanceof ApiFailure && error.isTemporary
        if (!isTemporary || signal.aborted) throw error
        if ((task.multipart?.sentBytes ?? 0) > before) attempt = 1
        if (attempt >= ATTEMPTS_MAX) throw error
        const wait = (error.retryAfterSeconds ?? 0) * 1000 || Math.min(RETRY_MS * 2 ** attempt, RETRY_MS_MAX)
        await pause(wait, signal)
      }
    }
  }

  async #send(task: Task, signal: AbortSignal): Promise<void> {
    const { view, file, multipart } = task
    if (multipart !== undefined) {
      return multipart.run(signal, () => this.#update(task, { sentBytes: multipart.sentBytes }))
    }
    const contentType = file.type || 'application/octet-stream'
    await transfer({ method: 'PUT', bucket: view.bucket, key: view.key }, file, {
      signal,
      contentType,
      onProgress: sentBytes => this.#update(task, { sentBytes }),
    })
  }

  #update(task: Task, change: Partial<Upload>): void {
    task.view = { ...task.view, ...change }
    this.#changed()
  }

  #changed(): void {
    this.#changes.changed(() => {
      this.#snapshot = [...this.#tasks.values()].map(({ view }) => view)
    })
  }
}

export const uploadQueue = new UploadQueue()
whenPersonLeaves(() => uploadQueue.clear())
whenPersonReturns(() => uploadQueue.resumeEnded())
