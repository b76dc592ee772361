/**
 * Everybody who works on a data folder: this process, and the others where there are several. Whoever frees bytes asks
 * here who may still need them, and does not know how many processes there are.
 *
 * A line is taken after looking: after reading a batch of garbage, after listing files, after seeing a volume closed.
 * Whoever comes in later, in whatever process, reads records at least as new as what was seen, and so cannot find what
 * had lost its name by then.
 */
import type { Tickets } from './tickets.ts'

export type Inside = 'readers' | 'drafts'

export interface Line {
  /** True when everybody who was inside has left, or has died. */
  passed(): boolean
}

/** The other processes. */
export interface Others {
  line(of: Inside): Line
  /** True while a process of this name lives: it appends to volumes, and counts usage, under it. */
  append(writer: Buffer): boolean
  /** Resolves when none of them uses the keyring as it was before. */
  reloadKeys(): Promise<void>
  /** Resolves when all of them know which records are lost. */
  reloadFindings(): Promise<void>
}

export const NOBODY_ELSE: Others = {
  line: () => ({ passed: () => true }),
  append: () => false,
  reloadKeys: async () => {},
  reloadFindings: async () => {},
}

export class Company {
  readonly #here: Readonly<Record<Inside, Tickets>>
  readonly #others: Others

  constructor(here: Readonly<Record<Inside, Tickets>>, others: Others) {
    this.#here = here
    this.#others = others
  }

  /** A line behind everybody who is inside now. */
  line(of: Inside): Line {
    const tickets = this.#here[of]
    const here = tickets.line()
    const elsewhere = this.#others.line(of)
    return { passed: () => tickets.passed(here) && elsewhere.passed() }
  }

  /** After the file that names lost records has changed. */
  reloadFindings(): Promise<void> {
    return this.#others.reloadFindings()
  }

  othersAppend(writer: Buffer): boolean {
    return this.#others.append(writer)
  }
}
