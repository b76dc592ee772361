/** One schedule: the seed decides everything about it. */
import type { Mechanisms } from './gateway.ts'
import { simulate } from './world.ts'

export const FEWEST_GATEWAYS = 3

/** Mostly few gateways, where faults meet more often; now and then many. */
export function gatewaysOf(seed: number): number {
  if (seed % 250 === 0) return 100
  return seed % 25 === 0 ? 20 : FEWEST_GATEWAYS + (seed % 3)
}

export async function violationsOf(seed: number, gateways: number, mechanisms: Mechanisms): Promise<readonly string[]> {
  try {
    return (await simulate({ seed, gateways, mechanisms })).violations
  } catch (error) {
    return [(error as Error).stack ?? String(error)]
  }
}
