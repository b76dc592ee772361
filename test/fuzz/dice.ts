/** Repeatable randomness: the same seed and shot number give the same request. */
import { type Random, seededRandom } from '../../src/lib/random.ts'

export class Dice {
  readonly #random: Random

  constructor(seed: number, shot: number) {
    this.#random = seededRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(shot + 1, 0x85ebca6b))
    this.#random.bytes(16)
  }

  /** A whole number below the bound. */
  below(bound: number): number {
    return Math.floor(this.#random.fraction() * bound)
  }

  chance(part: number): boolean {
    return this.#random.fraction() < part
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!
  }

  /** One of these, by weight. */
  weighed<T>(items: readonly (readonly [number, T])[]): T {
    let left = this.#random.fraction() * items.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, item] of items) if ((left -= weight) < 0) return item
    return items[items.length - 1]![1]
  }

  bytes(count: number): Buffer {
    return this.#random.bytes(count)
  }

  /** Mostly small, sometimes not. */
  size(max: number): number {
    return Math.floor(max ** this.#random.fraction())
  }
}
