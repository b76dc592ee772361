/**
 * Resolves when all readers and drafts of a data folder have passed an epoch, in this process and its peers. Code that
 * frees bytes waits here and need not know how many processes there are.
 * An epoch is taken after looking for garbage: after reading a batch of garbage records, listing files or seeing a
 * volume closed. A reader that enters later, in any process, reads records at least as new and cannot find bytes that
 * had lost their name by then.
 */
import type { EpochTracker } from './epoch-tracker.ts'

export type EpochKind = 'readers' | 'drafts'

export interface Epoch {
  /** True when everything active at that time has left or died with its process. */
  hasPassed(): boolean
}

export type WriterLookup = (writer: Buffer) => boolean

export interface PeerProcesses {
  epoch(of: EpochKind): Epoch
  /**
   * The writer ids of processes that live now and may append to their volumes and usage counters. Asked after the
   * volumes or counters were listed: a process that starts later has none of them.
   */
  writers(): Promise<WriterLookup>
  /** Resolves when no peer frees named bytes, and none does until the result is called. */
  holdReclamation(): Promise<() => void>
  /** Resolves when no peer uses the previous keyring. */
  reloadKeys(): Promise<void>
  /** Resolves when all peers know which records are lost. */
  reloadFindings(): Promise<void>
}

export const NO_PEERS: PeerProcesses = {
  epoch: () => ({ hasPassed: () => true }),
  writers: async () => () => false,
  holdReclamation: async () => () => {},
  reloadKeys: async () => {},
  reloadFindings: async () => {},
}

export class ReclamationBarrier {
  readonly #local: Readonly<Record<EpochKind, EpochTracker>>
  readonly #peers: PeerProcesses

  constructor(local: Readonly<Record<EpochKind, EpochTracker>>, peers: PeerProcesses) {
    this.#local = local
    this.#peers = peers
  }

  /** An epoch after everything active now. */
  epoch(of: EpochKind): Epoch {
    const epochs = this.#local[of]
    const local = epochs.current()
    const remote = this.#peers.epoch(of)
    return { hasPassed: () => epochs.hasPassed(local) && remote.hasPassed() }
  }

  /** Called after the file that lists lost records has changed. */
  reloadFindings(): Promise<void> {
    return this.#peers.reloadFindings()
  }

  peerWriters(): Promise<WriterLookup> {
    return this.#peers.writers()
  }
}
