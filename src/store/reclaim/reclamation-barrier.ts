/**
 * Everybody who works on a data folder: this process, and the others where there are several. Whoever frees bytes asks
 * here who may still need them, and does not know how many processes there are.
 *
 * A line is taken after looking: after reading a batch of garbage, after listing files, after seeing a volume closed.
 * Whoever comes in later, in whatever process, reads records at least as new as what was seen, and so cannot find what
 * had lost its name by then.
 */
import type { EpochTracker } from './epoch-tracker.ts'

export type EpochKind = 'readers' | 'drafts'

export interface Epoch {
  /** True when everybody who was inside has left, or has died. */
  hasPassed(): boolean
}

/** The other processes. */
export interface PeerProcesses {
  epoch(of: EpochKind): Epoch
  /** True while a process of this name lives: it appends to volumes, and counts usage, under it. */
  isWriter(writer: Buffer): boolean
  /** Resolves when none of them uses the keyring as it was before. */
  reloadKeys(): Promise<void>
  /** Resolves when all of them know which records are lost. */
  reloadFindings(): Promise<void>
}

export const NO_PEERS: PeerProcesses = {
  epoch: () => ({ hasPassed: () => true }),
  isWriter: () => false,
  reloadKeys: async () => {},
  reloadFindings: async () => {},
}

export class ReclamationBarrier {
  readonly #here: Readonly<Record<EpochKind, EpochTracker>>
  readonly #others: PeerProcesses

  constructor(here: Readonly<Record<EpochKind, EpochTracker>>, others: PeerProcesses) {
    this.#here = here
    this.#others = others
  }

  /** A line behind everybody who is inside now. */
  epoch(of: EpochKind): Epoch {
    const epochs = this.#here[of]
    const here = epochs.current()
    const elsewhere = this.#others.epoch(of)
    return { hasPassed: () => epochs.hasPassed(here) && elsewhere.hasPassed() }
  }

  /** After the file that names lost records has changed. */
  reloadFindings(): Promise<void> {
    return this.#others.reloadFindings()
  }

  isPeerWriter(writer: Buffer): boolean {
    return this.#others.isWriter(writer)
  }
}
