/** Room for fifty documents of a usual large size, or for thousands of small ones; the rest is read again. */
const CHARACTERS_MAX = 2 ** 20

/**
 * Remembers what was read from texts lately. Reading must be a function of the text alone: then nobody can tell, except
 * by the time it takes. A text that cannot be read is not remembered.
 */
export class ParseCache<T> {
  readonly #read: (text: string) => T
  readonly #charactersMax: number
  readonly #known = new Map<string, T>()
  #characters = 0

  constructor(read: (text: string) => T, charactersMax = CHARACTERS_MAX) {
    this.#read = read
    this.#charactersMax = charactersMax
  }

  get characters(): number {
    return this.#characters
  }

  get(text: string): T {
    const known = this.#known.get(text)
    if (known !== undefined) return known
    const read = this.#read(text)
    this.#known.set(text, read)
    this.#characters += text.length
    for (const oldest of this.#known.keys()) {
      if (this.#characters <= this.#charactersMax) break
      this.#known.delete(oldest)
      this.#characters -= oldest.length
    }
    return read
  }
}
