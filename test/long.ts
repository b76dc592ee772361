/**
 * Models, matrices and property tests come in two lengths: a short one for every run, and with `HOLDFAST_LONG=1` a long
 * one, which `npm run test:long` runs for every file that imports this module.
 */
export const LONG = process.env.HOLDFAST_LONG === '1'

/** Examples: the first list, or in the long form the second, which contains it. */
export const fewOrAll = <T>(few: readonly T[], all: readonly T[]): readonly T[] => (LONG ? all : few)

/** The number of runs: the short or the long count, or the value of this environment variable. */
export function shortOrLong(short: number, long: number, variable?: string): number {
  const given = variable === undefined ? undefined : process.env[variable]
  return given === undefined ? (LONG ? long : short) : Number(given)
}
