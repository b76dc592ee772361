import { ownText } from './own-text.ts'

/** Room for fifty large documents or thousands of small ones; others are parsed again. */
const CHARACTERS_MAX = 2 ** 20

/** Caches the results of parsing recent texts. The result must depend on the text alone. Failures are not cached. */
export class ParseCache<T> {
  readonly #parse: (text: string) => T
  readonly #charactersMax: number
  readonly #cache = new Map<string, T>()
  #characters = 0

  constructor(parsed: (text: string) => T, charactersMax = CHARACTERS_MAX) {
    this.#parse = parsed
    this.#charactersMax = charactersMax
  }

  get characters(): number {
    return this.#characters
  }

  get(sent: string): T {
    const cached = this.#cache.get(sent)
    if (cached !== undefined) return cached
    const text = ownText(sent)
    const parsed = this.#parse(text)
    this.#cache.set(text, parsed)
    this.#characters += text.length
    for (const oldest of this.#cache.keys()) {
      if (this.#characters <= this.#charactersMax) break
      this.#cache.delete(oldest)
      this.#characters -= oldest.length
    }
    return parsed
  }
}
