/**
 * Models, matrices and property tests come in two lengths: a short one for every run, and with `HOLDFAST_LONG=1` a long
 * one, which `npm run test:long` runs for every file that imports this module.
 */
const LONG = process.env.HOLDFAST_LONG === '1'

/** The number of runs: the short or the long count, or the value of this environment variable. */
export function shortOrLong(short: number, long: number, variable?: string): number {
  const given = variable === undefined ? undefined : process.env[variable]
  return given === undefined ? (LONG ? long : short) : Number(given)
}
