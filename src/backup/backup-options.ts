/** Options of a backup. */
import type { Clock } from '../lib/clock.ts'
import type { Vault } from './vault.ts'

/** A running server, or a folder without one. */
export interface BackupSource {
  start(): Promise<{ readonly backup: string; readonly takenAt: string }>
  records(backup: string): AsyncIterable<Buffer>
  blobs(backup: string, ids: readonly Buffer[]): AsyncIterable<Buffer>
  keep(backup: string): Promise<void>
  end(backup: string): Promise<void>
}

export interface BackupOptions {
  readonly vault: Vault
  readonly source: BackupSource
  readonly clock: Clock
  /** Read after the snapshot was taken, so that it contains every key the snapshot needs. */
  readonly keyring?: (id: Buffer) => Promise<Buffer>
  /** Also reads blobs that are already archived, and copies damaged ones again. */
  readonly recheck: boolean
  readonly progress: (line: string) => void
  /** Called for every piece that is read from the vault; it may wait, or throw to end the backup. */
  readonly pace?: () => Promise<void>
}
