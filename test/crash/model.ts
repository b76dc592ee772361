/**
 * The expected contents of a store, derived from the operations started and acknowledged. An operation that was started
 * and never acknowledged leaves two valid states: before it and after it. Nothing in between is valid.
 */
import type { Piece } from './payload.ts'

export type BucketName = 'plain' | 'versioned'

/** One bucket is versioned and the other is not. */
export const BUCKETS: readonly BucketName[] = ['plain', 'versioned']

export interface Name {
  readonly bucket: BucketName
  readonly key: string
}

export type Operation =
  | {
      readonly kind: 'put' | 'complete'
      readonly to: Name
      readonly pieces: readonly Piece[]
      readonly sealed: boolean
    }
  | {
      readonly kind: 'copy'
      readonly to: Name
      readonly from: Name & { readonly versionId?: string }
      readonly pieces: readonly Piece[]
      readonly sealed: boolean
    }
  | { readonly kind: 'remove'; readonly to: Name; readonly versionId?: string }
  /** By a lifecycle rule; only in the unversioned bucket. */
  | { readonly kind: 'expire'; readonly to: Name }
  | { readonly kind: 'hold'; readonly to: Name; readonly versionId: string; readonly on: boolean }

export interface Stored {
  readonly id: string
  readonly pieces: readonly Piece[]
  readonly hold: boolean
  readonly marker: boolean
}

/** The versions of one key, newest first. */
export type KeyState = readonly Stored[]

/** A version whose id was never reported. */
export const UNKNOWN = '?'
export const NULL_ID = 'null'

export function after(state: KeyState, operation: Operation, id: string): KeyState {
  const versioned = operation.to.bucket === 'versioned'
  if (operation.kind === 'hold') {
    return state.map(stored => (stored.id === operation.versionId ? { ...stored, hold: operation.on } : stored))
  }
  if (operation.kind === 'expire') return []
  if (operation.kind === 'remove') {
    if (operation.versionId !== undefined) return state.filter(stored => stored.id !== operation.versionId)
    return versioned ? [{ id, pieces: [], hold: false, marker: true }, ...state] : []
  }
  const stored = { id: versioned ? id : NULL_ID, pieces: operation.pieces, hold: false, marker: false }
  return versioned ? [stored, ...state] : [stored]
}

export const labelOf = ({ bucket, key }: Name): string => `${bucket}/${key}`

export function nameOf(label: string): Name {
  const slash = label.indexOf('/')
  return { bucket: label.slice(0, slash) as BucketName, key: label.slice(slash + 1) }
}

export type Saved = readonly (readonly [string, KeyState])[]

export class Expectation {
  readonly #states: Map<string, KeyState>
  readonly #open = new Map<string, Operation>()
  acknowledged = 0
  refused = 0

  constructor(saved: Saved = []) {
    this.#states = new Map(saved)
  }

  state(name: Name): KeyState {
    return this.#states.get(labelOf(name)) ?? []
  }

  labels(): string[] {
    return [...new Set([...this.#states.keys(), ...this.#open.keys()])]
  }

  begin(operation: Operation): void {
    const label = labelOf(operation.to)
    // Each key has one writer, which waits for each result: that makes the expected state exact.
    if (this.#open.has(label)) throw new Error(`${label}: two operations at once`)
    this.#open.set(label, operation)
  }

  acknowledge(operation: Operation, id: string): void {
    this.acknowledged++
    this.#close(operation, after(this.state(operation.to), operation, id))
  }

  /** The operation was refused: nothing has changed. */
  refuse(operation: Operation): void {
    this.refused++
    this.#close(operation, this.state(operation.to))
  }

  #close(operation: Operation, state: KeyState): void {
    this.#open.delete(labelOf(operation.to))
    this.settle(operation.to, state)
  }

  /** The state that was found is the expected one from now on. */
  settle(name: Name, state: KeyState): void {
    this.#open.delete(labelOf(name))
    if (state.length === 0) this.#states.delete(labelOf(name))
    else this.#states.set(labelOf(name), state)
  }

  /** The valid states of this key. */
  candidates(name: Name): readonly KeyState[] {
    const before = this.state(name)
    const open = this.#open.get(labelOf(name))
    return open === undefined ? [before] : [before, after(before, open, UNKNOWN)]
  }

  /** An independent copy. */
  copy(): Expectation {
    const copy = new Expectation([...this.#states])
    for (const operation of this.#open.values()) copy.begin(operation)
    return copy
  }

  get openCount(): number {
    return this.#open.size
  }

  save(): Saved {
    if (this.#open.size > 0) throw new Error('some outcomes are still open')
    return [...this.#states]
  }
}
