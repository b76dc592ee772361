/**
 * A JSON parser for policies. JSON.parse silently keeps the last of two members with one name; in a policy that hides a
 * statement, so here it is an error. Objects become maps, so that `__proto__` is a member like any other.
 */
import { malformed } from './malformed.ts'

export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export type JsonObject = ReadonlyMap<string, Json>

/** More than any valid policy needs; bounds the recursion. */
const DEPTH_MAX = 12

const SPACE = /[ \t\n\r]*/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these inside a string
const STRING = /"[^"\\\u0000-\u001f]*(?:\\.[^"\\\u0000-\u001f]*)*"/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const SURROGATE = /\p{Surrogate}/u

export function readJson(text: string): Json {
  const reader = new Reader(text)
  const value = reader.value(0)
  reader.end()
  return value
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): Json {
    if (depth > DEPTH_MAX) throw malformed('The JSON is nested too deeply')
    this.#take(SPACE)
    const first = this.#text[this.#at]
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#array(depth)
    if (first === '"') return this.#string()
    const word = this.#take(WORD)
    if (word !== undefined) return JSON.parse(word)
    const number = this.#take(NUMBER)
    if (number !== undefined) return Number(number)
    throw this.#unexpected()
  }

  end(): void {
    this.#take(SPACE)
    if (this.#at < this.#text.length) throw this.#unexpected()
  }

  #object(depth: number): JsonObject {
    const members = new Map<string, Json>()
    this.#at += 1
    if (this.#skip('}')) return members
    do {
      this.#take(SPACE)
      const name = this.#string()
      if (members.has(name)) throw malformed(`The JSON has the member ${JSON.stringify(name)} twice`)
      if (!this.#skip(':')) throw this.#unexpected()
      members.set(name, this.value(depth + 1))
    } while (this.#skip(','))
    if (!this.#skip('}')) throw this.#unexpected()
    return members
  }

  #array(depth: number): Json[] {
    const items: Json[] = []
    this.#at += 1
    if (this.#skip(']')) return items
    do items.push(this.value(depth + 1))
    while (this.#skip(','))
    if (!this.#skip(']')) throw this.#unexpected()
    return items
  }

  #string(): string {
    const quoted = this.#take(STRING)
    if (quoted === undefined) throw this.#unexpected()
    try {
      const text: string = JSON.parse(quoted)
      if (!SURROGATE.test(text)) return text
    } catch {
      // An invalid escape is reported below, like a lone surrogate.
    }
    throw malformed('The JSON has a string that is not valid text')
  }

  #skip(sign: string): boolean {
    this.#take(SPACE)
    if (this.#text[this.#at] !== sign) return false
    this.#at += 1
    return true
  }

  #take(shape: RegExp): string | undefined {
    shape.lastIndex = this.#at
    const found = shape.exec(this.#text)
    if (found === null) return undefined
    this.#at += found[0].length
    return found[0]
  }

  #unexpected(): Error {
    return malformed(`The JSON is not well-formed at character ${this.#at}`)
  }
}
