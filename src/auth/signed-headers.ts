/** The headers that a signature covers. Sorted only for a known key: anyone can send thousands of names. */
class SignedHeaderList {
  readonly #list: readonly string[]
  #names: readonly string[] | undefined
  #text: string | undefined
  readonly set: ReadonlySet<string>

  constructor(list: readonly string[]) {
    this.#list = list
    this.set = new Set(list)
  }

  /** Lower case, sorted. */
  get names(): readonly string[] {
    this.#names ??= [...this.#list].sort()
    return this.#names
  }

  /** The list as it appears in the signed text. */
  get text(): string {
    this.#text ??= this.names.join(';')
    return this.#text
  }
}

export type SignedHeaders = Pick<SignedHeaderList, 'names' | 'set' | 'text'>

/** Parses a semicolon-separated list. */
export const signedHeadersIn = (list: string): SignedHeaders => new SignedHeaderList(list.split(';'))
