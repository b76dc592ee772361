/** What a backup is taken with. */
import type { Clock } from '../lib/clock.ts'
import type { Vault } from './vault.ts'

/** A server, or a folder without one. */
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
  /** Read after the snapshot was taken: it knows every key that something in there is sealed with. */
  readonly keyring?: (id: Buffer) => Promise<Buffer>
  /** Reads what is kept already, too, and copies again what is damaged. */
  readonly recheck: boolean
  readonly progress: (line: string) => void
}
