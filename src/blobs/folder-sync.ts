import type { Disk } from '../lib/disk.ts'

interface FolderQueue {
  running: Promise<void>
  /** Starts when the running one ends; all callers that arrive meanwhile share it. */
  next: Promise<void> | undefined
}

/** Makes names durable. Callers that arrive while a folder is being synced share the sync that follows. */
export class FolderSync {
  readonly #disk: Disk
  readonly #lines = new Map<string, FolderQueue>()

  constructor(disk: Disk) {
    this.#disk = disk
  }

  sync(folder: string): Promise<void> {
    const line = this.#lines.get(folder)
    if (line === undefined) return this.#start(folder)
    // The running sync may have begun before the caller created its name, so it does not count.
    line.next ??= line.running.then(
      () => this.#start(folder),
      () => this.#start(folder),
    )
    return line.next
  }

  #start(folder: string): Promise<void> {
    const line: FolderQueue = { running: this.#disk.syncFolder(folder), next: undefined }
    this.#lines.set(folder, line)
    const over = () => {
      if (line.next === undefined) this.#lines.delete(folder)
    }
    line.running.then(over, over)
    return line.running
  }
}
