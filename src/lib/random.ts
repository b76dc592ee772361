import { randomFillSync } from 'node:crypto'

/** The only source of randomness. A seeded one makes a run repeatable. */
export interface Random {
  /** Unpredictable bytes: ids, keys, nonces. */
  bytes(count: number): Buffer
  /** A number in [0, 1), for jitter and sampling, never for secrets. */
  fraction(): number
}

/** A system call for 16 bytes costs more than the rest of creating an id, so bytes are drawn in pages. */
const POOL_BYTES = 4096
const pool = Buffer.allocUnsafeSlow(POOL_BYTES)
let poolUsed = POOL_BYTES

export const systemRandom: Random = {
  bytes(count) {
    if (count > POOL_BYTES / 4) return randomFillSync(Buffer.allocUnsafeSlow(count))
    if (poolUsed + count > POOL_BYTES) {
      randomFillSync(pool)
      poolUsed = 0
    }
    // Copied, so that the next refill does not change it.
    const out = Buffer.from(pool.subarray(poolUsed, poolUsed + count))
    pool.fill(0, poolUsed, poolUsed + count)
    poolUsed += count
    return out
  },
  fraction: () => Math.random(),
}

/** Spreads a small seed over 32 bits, so that neighbouring seeds are unrelated. */
function spread(seed: number): number {
  let h = Math.imul(seed ^ (seed >>> 16), 0x7feb352d)
  h = Math.imul(h ^ (h >>> 15), 0x846ca68b)
  return (h ^ (h >>> 16)) >>> 0
}

/** Repeatable randomness for tests and replays (xorshift128); never for keys. */
export function seededRandom(seed: number): Random {
  let x = spread(seed) | 1
  let y = spread(seed + 0x9e3779b9) | 0
  let z = spread(seed + 0x3c6ef372) | 0
  let w = spread(seed + 0xdaa66d2b) | 0
  // Signed, since the runtime stores numbers above 2 ** 31 on the heap.
  const next = (): number => {
    const t = x ^ (x << 11)
    x = y
    y = z
    z = w
    w = w ^ (w >>> 19) ^ t ^ (t >>> 8)
    return w
  }
  return {
    bytes(count) {
      const out = Buffer.alloc(count)
      for (let i = 0; i < count; i++) out[i] = next()
      return out
    },
    fraction: () => (next() >>> 0) / 2 ** 32,
  }
}
