/**
 * Backups that the server itself takes, by the writer that the command uses, into folders below one that its operator
 * has permitted. One at a time, as with clients.
 */
import type { Clock } from '../lib/clock.ts'
import { Pacer, Stopped } from '../lib/pacer.ts'
import { Fault } from '../model/faults.ts'
import type { BackupLeases, BackupProgress } from './lease.ts'
import { localSource } from './local-source.ts'
import type { Manifest } from './manifest.ts'
import { takeBackup } from './take-backup.ts'
import type { Vault } from './vault.ts'

/** One folder name: no separator, and neither `.` nor `..`. */
export const BACKUP_NAME: RegExp = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

export interface StoredBackup {
  readonly name: string
  /** Complete runs. */
  readonly runs: number
  /** When the newest was taken. */
  readonly newestAt: string
}

/** The permitted folder. */
export interface BackupPlace {
  readonly folder: string
  list(): Promise<readonly StoredBackup[]>
  /** Opens the backups of this name exclusively. Refuses a folder that is used for something else. */
  withVault<T>(name: string, use: (vault: Vault) => Promise<T>): Promise<T>
}

export interface ServerBackupState {
  readonly state: 'never' | 'running' | 'done' | 'stopped' | 'failed'
  readonly name?: string
  readonly startedAt?: string
  readonly endedAt?: string
  /** Absent before the snapshot is taken. */
  readonly takenAt?: string
  readonly phase?: BackupProgress['phase']
  /** Bytes of records and blobs written so far; those that were there already are not written. */
  readonly writtenBytes: number
  readonly run?: string
  readonly blobs?: Manifest['blobs']
  /** Blobs that the store could not read. */
  readonly damaged?: number
  readonly error?: string
}

interface Run {
  readonly name: string
  readonly startedAt: string
  readonly stopper: AbortController
  progress?: BackupProgress | undefined
  end?: Omit<ServerBackupState, 'writtenBytes'>
}

export class ServerBackups {
  readonly #leases: BackupLeases
  readonly #clock: Clock
  /** Undefined when the operator permits none. */
  readonly place: BackupPlace | undefined
  #run: Run | undefined
  #running: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(leases: BackupLeases, clock: Clock, place: BackupPlace | undefined) {
    this.#leases = leases
    this.#clock = clock
    this.place = place
  }

  get state(): ServerBackupState {
    if (this.#run === undefined) return { state: 'never', writtenBytes: 0 }
    const { name, startedAt, progress, end } = this.#run
    const seen = progress && { takenAt: progress.takenAt, phase: progress.phase }
    return { state: 'running', name, startedAt, writtenBytes: progress?.sentBytes ?? 0, ...seen, ...end }
  }

  start(name: string): ServerBackupState {
    const { place } = this
    if (place === undefined) {
      throw new Fault('InvalidRequest', {
        reason: 'This server takes no backups itself: start it with --backup-folder DIR, or use holdfast backup.',
      })
    }
    if (!BACKUP_NAME.test(name)) {
      const reason =
        'name is not 1 to 64 letters, digits, dots, hyphens and underscores that begin with a letter or digit'
      throw new Fault('InvalidArgument', { ArgumentName: 'name', reason })
    }
    const isRunning = this.#run !== undefined && this.#run.end === undefined
    if (isRunning || this.#isClosed || this.#leases.progress !== undefined) {
      throw new Fault('OperationAborted', { reason: 'Another backup is in progress.' })
    }
    const run: Run = { name, startedAt: this.#now(), stopper: new AbortController() }
    this.#run = run
    this.#running = this.#take(place, run).then(
      ({ run: made, blobs, damaged }) => {
        run.end = { state: 'done', endedAt: this.#now(), run: made, blobs, damaged: damaged.length }
      },
      (error: unknown) => {
        const endedAt = this.#now()
        run.end =
          error instanceof Stopped ? { state: 'stopped', endedAt } : { state: 'failed', endedAt, error: textOf(error) }
      },
    )
    return this.state
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString()
  }

  #take(place: BackupPlace, run: Run): Promise<Manifest> {
    const pacer = new Pacer(this.#clock, run.stopper.signal)
    const note = (): void => {
      run.progress = this.#leases.progress ?? run.progress
      run.stopper.signal.throwIfAborted()
    }
    const pace = async (): Promise<void> => {
      note()
      await pacer.pace()
    }
    const source = localSource(this.#leases, pace)
    return place.withVault(run.name, vault =>
      takeBackup({ vault, source, clock: this.#clock, recheck: false, progress: note, pace }),
    )
  }

  /** Resolves once it has ended. Blobs copied so far stay, and the next backup of this name goes on with them. */
  async stop(): Promise<ServerBackupState> {
    this.#run?.stopper.abort(new Stopped())
    await this.#running
    return this.state
  }

  /** Called before the store is closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.stop()
  }

  ended(): Promise<void> {
    return this.#running
  }
}

const textOf = (error: unknown): string =>
  error instanceof Fault ? String(error.detail.reason ?? error.message) : (error as Error).message
