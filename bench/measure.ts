/** Measurement: contenders do the same work in turns, one warm-up turn each; the result is the median of the rest. */

export interface Row {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The reference's figure; null for a row without a reference. */
  readonly reference: number | null
  readonly ratio: number | null
}

/** One turn: does a fixed amount of work and returns its figure. */
export type Turn = () => Promise<number>

export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Medians of all contenders. */
export const medians = async (rounds: number, contenders: readonly Turn[]): Promise<number[]> =>
  (await inTurns(rounds, contenders)).map(median)

/**
 * The figures of all contenders. They take turns, so that a slow disk or other load on the machine affects all of them
 * alike. The order is shuffled each round, so that periodic events, such as garbage collection, do not always affect
 * the same one.
 */
export async function inTurns<T>(rounds: number, contenders: readonly (() => Promise<T>)[]): Promise<T[][]> {
  const figures = contenders.map((): T[] => [])
  for (let round = 0; round <= rounds; round++) {
    for (const i of shuffled([...contenders.keys()])) {
      const figure = await contenders[i]!()
      if (round > 0) figures[i]!.push(figure)
    }
  }
  return figures
}

export function shuffled<T>(items: readonly T[]): T[] {
  const out = [...items]
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[out[i], out[j]] = [out[j]!, out[i]!]
  }
  return out
}

/** A row whose ratio is Holdfast's figure divided by the reference's. */
export function rowOf(name: string, unit: string, value: number, reference: number): Row {
  return { name, value, unit, reference, ratio: value / reference }
}

export const aloneRow = (name: string, unit: string, value: number): Row => ({
  name,
  value,
  unit,
  reference: null,
  ratio: null,
})

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

export async function perSecond(count: number, work: () => Promise<unknown>): Promise<number> {
  return (count * 1000) / (await milliseconds(work))
}

/** Runs `work` for 0 … count − 1, always `width` of them at a time. */
export async function inFlight(width: number, count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: width }, lane))
}
