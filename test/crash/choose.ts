/**
 * Chooses the next operation of a lane. Each lane has its own keys, so that no other lane changes their expected state.
 */
import type { Random } from '../../src/lib/random.ts'
import { type Expectation, type KeyState, type Name, NULL_ID, type Operation, type Stored } from './model.ts'
import type { Piece } from './payload.ts'

const KEYS_PER_LANE = 3
const VERSIONS_PER_KEY = 4

export interface Sizes {
  readonly inlineMax: number
  readonly packedMax: number
  readonly soloMax: number
  /** The share of bodies that are long enough for a file of their own. */
  readonly soloShare: number
  /** The minimum size of a part that is not the last of its upload. */
  readonly partMin: number
}

export class Lane {
  readonly #random: Random
  readonly #expectation: Expectation
  readonly #names: readonly Name[]
  readonly #sizes: Sizes

  constructor(number: number, random: Random, expectation: Expectation, sizes: Sizes) {
    this.#random = random
    this.#expectation = expectation
    this.#sizes = sizes
    const keys = Array.from({ length: KEYS_PER_LANE }, (_, index) => `lane-${number}/key-${index}`)
    this.#names = keys.flatMap(key => [{ bucket: 'plain', key } as const, { bucket: 'versioned', key } as const])
  }

  #below(limit: number): number {
    return Math.floor(this.#random.fraction() * limit)
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!
  }

  #piece(least: number, most: number): Piece {
    return { seed: this.#below(2 ** 31), size: least + this.#below(most - least + 1) }
  }

  /** Mostly small, as in practice. */
  #body(): Piece {
    const { inlineMax, packedMax, soloMax, soloShare } = this.#sizes
    if (this.#random.fraction() < soloShare) return this.#piece(packedMax + 1, soloMax)
    const dice = this.#random.fraction()
    if (dice < 0.5) return this.#piece(0, inlineMax)
    return this.#piece(inlineMax + 1, dice < 0.95 ? Math.min(packedMax, inlineMax * 10) : packedMax)
  }

  next(): Operation {
    const to = this.#pick(this.#names)
    const state = this.#expectation.state(to)
    const sealed = this.#random.fraction() < 0.25
    if (state.length > VERSIONS_PER_KEY) return this.#trim(to, state)
    const dice = this.#random.fraction()
    if (dice < 0.15) return this.#copy(to, sealed) ?? { kind: 'put', to, pieces: [this.#body()], sealed }
    if (dice < 0.25) return { kind: 'remove', to }
    if (dice < 0.4) return this.#change(to, state) ?? { kind: 'put', to, pieces: [this.#body()], sealed }
    if (dice < 0.46) return { kind: 'complete', to, pieces: this.#parts(), sealed }
    return { kind: 'put', to, pieces: [this.#body()], sealed }
  }

  #parts(): Piece[] {
    const { partMin } = this.#sizes
    const last = this.#body()
    return this.#random.fraction() < 0.1 ? [this.#piece(partMin, partMin + 1000), last] : [last]
  }

  #copy(to: Name, sealed: boolean): Operation | undefined {
    const from = this.#pick(this.#names)
    const source = this.#expectation.state(from).find(stored => !stored.marker)
    if (source === undefined) return undefined
    const { pieces, id } = source
    return { kind: 'copy', to, from: id === NULL_ID ? from : { ...from, versionId: id }, pieces, sealed }
  }

  /** Sets a hold on a version, or deletes one, which must be refused while it is held. */
  #change(to: Name, state: KeyState): Operation | undefined {
    if (to.bucket === 'plain' || state.length === 0) return undefined
    const { id: versionId, hold, marker } = this.#pick(state)
    if (marker || this.#random.fraction() < 0.5) return { kind: 'remove', to, versionId }
    return { kind: 'hold', to, versionId, on: !hold }
  }

  #trim(to: Name, state: KeyState): Operation {
    const oldest = state.at(-1)!
    if (oldest.hold) return { kind: 'hold', to, versionId: oldest.id, on: false }
    return { kind: 'remove', to, versionId: oldest.id }
  }
}

/** True when the store must refuse this. */
export function mustRefuse(operation: Operation, state: KeyState): boolean {
  if (operation.kind !== 'remove' || operation.versionId === undefined) return false
  return state.some((stored: Stored) => stored.id === operation.versionId && stored.hold)
}
