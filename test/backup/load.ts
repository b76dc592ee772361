/** Clients that make random changes and record the possible states of each name over time. */
import assert from 'node:assert/strict'
import { lockBucket } from '../http/actions.ts'
import { hold, ok } from '../http/lock-requests.ts'
import { begin, finish, MIB5, part } from '../http/parts.ts'
import { type Client, makeBucket } from '../http/server.ts'
import { below, chance, payload } from '../store/fixture.ts'
import { sha } from './fixture.ts'

/** The state of a name since some moment within [from, to]. */
interface Change {
  readonly state: string
  readonly from: number
  readonly to: number
}

export const GONE = 'gone'
const SIZES = [100, 6_000, 90_000, 1_200_000]
const KEYS = 5

export class Histories {
  readonly #of = new Map<string, Change[]>()

  async change(name: string, state: string, act: () => Promise<unknown>): Promise<void> {
    const from = performance.now()
    await act()
    const changes = this.#of.get(name) ?? [{ state: GONE, from: Number.NEGATIVE_INFINITY, to: 0 }]
    changes.push({ state, from, to: performance.now() })
    this.#of.set(name, changes)
  }

  last(name: string): string {
    return this.#of.get(name)?.at(-1)?.state ?? GONE
  }

  get names(): string[] {
    return [...this.#of.keys()]
  }

  get changes(): number {
    return [...this.#of.values()].reduce((sum, { length }) => sum + length - 1, 0)
  }

  /** A moment within this interval at which all states are possible; undefined when there is none. */
  momentOf(states: ReadonlyMap<string, string>, start: number, end: number): number | undefined {
    const stretches = [...this.#of].map(([name, changes]) =>
      changes.flatMap(({ state, from }, i) =>
        state === states.get(name) ? [{ from, to: changes[i + 1]?.to ?? Number.POSITIVE_INFINITY }] : [],
      ),
    )
    const candidates = [start, ...stretches.flat().map(({ from }) => from)].filter(at => at >= start && at <= end)
    return candidates.find(at => stretches.every(some => some.some(({ from, to }) => from <= at && at <= to)))
  }
}

export const PLAIN = 'plain-bucket'
export const LOCKED = 'lock-bucket'

export async function prepare(client: Client): Promise<void> {
  await makeBucket(client, PLAIN)
  await lockBucket(client, LOCKED)
}

/** Without a pause between its changes a client would take the processor from the backup. */
const pause = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 20))

/** One client with its own names, one change at a time until it is stopped. */
export async function work(client: Client, seed: number, histories: Histories, stopped: () => boolean): Promise<void> {
  const random = chance(seed)
  const path = (): string => `/${seed}-${below(random, KEYS)}`
  const held = `/held-${seed}`
  await histories.change(`${LOCKED}${held}`, 'OFF', () =>
    ok(client.send({ method: 'PUT', bucket: LOCKED, path: held, body: payload(9_000, seed) })),
  )
  for (let turn = 1; !stopped(); turn++) {
    await pause()
    const [at, dice] = [path(), below(random, 20)]
    const body = payload(SIZES[below(random, SIZES.length)]!, seed * 100_000 + turn)
    const target = { bucket: PLAIN, path: at }
    const name = PLAIN + at
    if (dice < 3) {
      const status = histories.last(`${LOCKED}${held}`) === 'ON' ? 'OFF' : 'ON'
      await histories.change(`${LOCKED}${held}`, status, () => ok(hold(client, LOCKED, held, status)))
    } else if (dice < 7) {
      await histories.change(name, GONE, () => ok(client.send({ method: 'DELETE', ...target })))
    } else if (dice < 10) {
      const from = path()
      if (histories.last(PLAIN + from) === GONE || from === at) continue
      const headers = [[':copy-source', `/${PLAIN}${from}`] as const]
      await histories.change(name, histories.last(PLAIN + from), () =>
        ok(client.send({ method: 'PUT', ...target, headers })),
      )
    } else if (dice < 11) {
      const bytes = [payload(MIB5, turn), body]
      await histories.change(name, sha(Buffer.concat(bytes)), () => inParts(client, at, bytes))
    } else {
      await histories.change(name, sha(body), () => ok(client.send({ method: 'PUT', ...target, body })))
    }
  }
}

async function inParts(client: Client, path: string, bodies: readonly Buffer[]): Promise<void> {
  const place = await begin(client, PLAIN, path)
  const parts = []
  for (const [i, body] of bodies.entries()) parts.push(await part(client, place, i + 1, body))
  const done = await ok(finish(client, place, parts))
  assert.match(done.body.toString(), /CompleteMultipartUploadResult/)
}
