/** Repeats requests after transient failures, with exponential backoff and jitter. */
import { type Clock, systemClock } from '../lib/clock.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import { isTransient } from './responses.ts'

export interface RetryPolicy {
  readonly attemptsMax?: number
  /** No attempt starts after this time. */
  readonly forMs?: number
}

export interface RetryContext {
  readonly clock: Clock
  readonly random: Random
}

const ATTEMPTS_MAX = 6
const BACKOFF_MS = 200
const BACKOFF_MS_MAX = 10_000
const SYSTEM: RetryContext = { clock: systemClock, random: systemRandom }

export function backoffMs(attempt: number, chance: number): number {
  const most = Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** attempt)
  return Math.round(most / 2 + (most / 2) * chance)
}

/** `work` is given the number of earlier attempts. */
export async function withRetries<T>(
  work: (attempt: number) => Promise<T>,
  { attemptsMax, forMs }: RetryPolicy = { attemptsMax: ATTEMPTS_MAX },
  { clock, random }: RetryContext = SYSTEM,
): Promise<T> {
  const start = clock.elapsed()
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!isTransient(error) || attempt + 1 >= (attemptsMax ?? Number.POSITIVE_INFINITY)) throw error
      const pause = backoffMs(attempt, random.fraction())
      if (clock.elapsed() + pause - start > (forMs ?? Number.POSITIVE_INFINITY)) throw error
      await clock.sleep(pause)
    }
  }
}
