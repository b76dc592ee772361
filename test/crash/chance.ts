import { type Random, seededRandom } from '../../src/lib/random.ts'

/** Repeatable randomness for one purpose of a run. Neighbouring seeds start alike, so they are spread first. */
export function chance(seed: number, purpose = 0): Random {
  const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(purpose + 1, 0x85ebca6b))
  random.bytes(64)
  return random
}
