/**
 * Every path that frees named bytes must acquire this lock. A backup holds it exclusively, so that the bytes its
 * snapshot references stay in place until the backup ends or this process exits.
 */
export class ReclamationLock {
  readonly #holdPeers: () => Promise<() => void>
  #freeing = 0
  #holds = 0
  #isHeldRemotely = false
  readonly #waiting: (() => void)[] = []

  constructor(holdPeers: () => Promise<() => void>) {
    this.#holdPeers = holdPeers
  }

  get isHeld(): boolean {
    return this.#holds > 0 || this.#isHeldRemotely
  }

  get isFreeing(): boolean {
    return this.#freeing > 0
  }

  /** A process on another machine holds it, or no longer does. */
  holdRemotely(isHeld: boolean): void {
    this.#isHeldRemotely = isHeld
  }

  /** Runs `work` unless a backup holds the lock; false when nothing was done. */
  async free(work: () => Promise<void>): Promise<boolean> {
    if (this.isHeld) return false
    this.#freeing++
    try {
      await work()
      return true
    } finally {
      this.#freeing--
      if (this.#freeing === 0) for (const resolve of this.#waiting.splice(0)) resolve()
    }
  }

  /** Resolves once nothing is being freed; nothing is freed until the returned function is called. */
  async hold(): Promise<() => void> {
    this.#holds++
    if (this.#freeing > 0) await new Promise<void>(resolve => this.#waiting.push(resolve))
    const releasePeers = await this.#holdPeers().catch((error: unknown) => {
      this.#holds--
      throw error
    })
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#holds--
      releasePeers()
    }
  }
}
