import { headerText } from '../lib/header-text.ts'
import { plusIsSpace, type RawRequest, splitTarget } from '../lib/raw-request.ts'
import { Fault } from '../model/faults.ts'
import type { RequestView } from '../operations/operation.ts'
import { decodeTarget } from './address.ts'
import { type Dialect, neutralName, neutralValue } from './dialect.ts'

/** A request's headers and query, decoded once and looked up by neutral names. */
export class View implements RequestView {
  readonly #dialect: Dialect
  /** By neutral name. */
  readonly #headers = new Map<string, string>()
  readonly #query = new Map<string, string>()

  constructor(request: RawRequest, dialect: Dialect) {
    this.#dialect = dialect
    for (const [name, value] of request.headers) {
      const neutral = neutralName(dialect, name.toLowerCase())
      const text = headerText(value.trim())
      const before = this.#headers.get(neutral)
      this.#headers.set(neutral, before === undefined ? text : `${before},${text}`)
    }
    const { query } = splitTarget(request.target)
    if (query === '') return
    for (const pair of plusIsSpace(query).split('&')) {
      if (pair === '') continue
      const equals = pair.indexOf('=')
      const name = decodeTarget(equals < 0 ? pair : pair.slice(0, equals))
      const value = equals < 0 ? '' : decodeTarget(pair.slice(equals + 1))
      // Which of two counts would depend on their order, which a signature does not cover.
      if (this.#query.has(name)) throw new Fault('InvalidArgument', { ArgumentName: name })
      this.#query.set(name, value)
    }
  }

  header(name: string): string | undefined {
    const value = this.#headers.get(name)
    return value === undefined ? undefined : neutralValue(this.#dialect, name, value)
  }

  headersUnder(prefix: string): readonly (readonly [string, string])[] {
    const found: [string, string][] = []
    for (const [name, value] of this.#headers) {
      if (name.startsWith(prefix)) found.push([name.slice(prefix.length), value])
    }
    return found
  }

  query(name: string): string | undefined {
    return this.#query.get(name)
  }

  get queryNames(): Iterable<string> {
    return this.#query.keys()
  }

  /** A number of bytes that a header announces. */
  byteCount(name: string): number | undefined {
    const value = this.header(name)
    if (value === undefined) return undefined
    if (!/^\d{1,15}$/.test(value)) throw new Fault('InvalidArgument', { ArgumentName: name, ArgumentValue: value })
    return Number(value)
  }
}
