/** Fault injection. Each rule affects the requests that match it, up to its limit. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Exchange } from '../edge/exchange.ts'
import { ConnectionCut, type FaultInjector, type InterceptedRequest } from '../edge/fault-injection.ts'
import type { RequestState } from '../edge/request-state.ts'
import { systemClock } from '../lib/clock.ts'
import { abandon, readerOf } from '../lib/piece-stream.ts'
import { Fault } from '../model/faults.ts'
import type { FaultEffect, FaultMatch, FaultRule, HoldfastFaults } from './api.ts'
import { checkRule } from './check-options.ts'

type Respond = (incoming: Exchange) => Promise<RequestState>

const isLike = (text: string, wanted: string | RegExp | undefined): boolean =>
  wanted === undefined || (typeof wanted === 'string' ? text === wanted : text.search(wanted) >= 0)

const isMatch = (request: InterceptedRequest, { operation, method, bucket, key }: FaultMatch): boolean =>
  isLike(request.operation, operation) &&
  isLike(request.method, method?.toUpperCase()) &&
  isLike(request.bucket, bucket) &&
  isLike(request.key, key)

class Injected {
  readonly rule: FaultRule
  hits = 0

  constructor(rule: FaultRule) {
    this.rule = { ...rule, match: { ...rule.match } }
  }

  takes(request: InterceptedRequest): boolean {
    const { match = {}, times = Number.POSITIVE_INFINITY } = this.rule
    if (this.hits >= times || !isMatch(request, match)) return false
    this.hits++
    return true
  }
}

/** Passes bytes up to the limit, then fails. */
async function* cut(body: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of body) {
    if (chunk.length <= left) {
      left -= chunk.length
      yield chunk
      continue
    }
    if (left > 0) yield chunk.subarray(0, left)
    // Bytes already passed on are sent first.
    await new Promise(resolve => setImmediate(resolve))
    throw new ConnectionCut()
  }
}

async function* inOne(body: Buffer): AsyncGenerator<Buffer> {
  yield body
}

const hasBody = ({ request }: Exchange): boolean =>
  request.headers.some(([name, value]) => {
    const lower = name.toLowerCase()
    return lower === 'transfer-encoding' || (lower === 'content-length' && value !== '0')
  })

async function cutResponse(incoming: Exchange, respond: Respond, bytes: number): Promise<RequestState> {
  const state = await respond(incoming)
  const { response } = state
  const { body } = response
  if (body === undefined) return state
  const whole = Buffer.isBuffer(body) ? inOne(body) : body
  return { ...state, response: { ...response, body: cut(whole, bytes) } }
}

async function loseResponse(incoming: Exchange, respond: Respond): Promise<void> {
  try {
    const { body } = (await respond(incoming)).response
    if (body !== undefined && !Buffer.isBuffer(body)) await abandon(readerOf(body))
  } catch (error) {
    if (!(error instanceof Fault)) throw error
  }
}

export class FaultList {
  readonly #injected = new Set<Injected>()
  /** Aborts pending delays. */
  readonly #delays = new Set<() => void>()
  readonly #onFullDisk = new AsyncLocalStorage<true>()

  /** Whether the current request must find the disk full. */
  readonly isDiskFull = (): boolean => this.#onFullDisk.getStore() === true

  readonly faultInjector: FaultInjector = (request, incoming, respond) => {
    for (const injected of this.#injected) {
      if (injected.takes(request)) return this.#apply(injected.rule.fault, incoming, respond)
    }
    return respond(incoming)
  }

  async #apply(effect: FaultEffect, incoming: Exchange, respond: Respond): Promise<RequestState> {
    if (effect === 'slow-down') throw new Fault('SlowDown')
    if (effect === 'internal-error') throw new Fault('InternalError')
    if (effect === 'disk-full') return this.#onFullDisk.run(true, () => respond(incoming))
    if (effect === 'lost-answer') {
      await loseResponse(incoming, respond)
      throw new ConnectionCut()
    }
    if ('delay' in effect) {
      await this.#delay(effect.delay)
      return respond(incoming)
    }
    if (hasBody(incoming)) return respond({ ...incoming, body: cut(incoming.body, effect.cutAfter) })
    return cutResponse(incoming, respond, effect.cutAfter)
  }

  #delay(ms: number): Promise<void> {
    return new Promise(resolve => {
      const end = (): void => {
        cancel()
        this.#delays.delete(end)
        resolve()
      }
      const cancel = systemClock.after(ms, end)
      this.#delays.add(end)
    })
  }

  #clear(): void {
    this.#injected.clear()
    for (const end of this.#delays) end()
  }

  /** The public interface. */
  handle(): HoldfastFaults {
    return {
      add: rule => {
        checkRule(rule)
        const injected = new Injected(rule)
        this.#injected.add(injected)
        return {
          get hits() {
            return injected.hits
          },
          remove: () => void this.#injected.delete(injected),
        }
      },
      clear: () => this.#clear(),
    }
  }
}
