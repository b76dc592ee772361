/**
 * Verifies an exported ledger: every line by its hash, the chain by the hash of the line before, the end by the
 * signature of the closing line. It needs nothing but the lines and WebCrypto: the verdict is the browser's own.
 * `docs/formats/ledger.md` specifies the lines.
 */

/** The verdict in words belongs to the page. */
export type LedgerFault =
  | 'header'
  | 'other ledger'
  | 'other key'
  | 'entry'
  | 'altered'
  | 'sequence'
  | 'chain'
  | 'earlier'
  | 'closing'
  | 'count'
  | 'last'
  | 'signature'
  | 'truncated'

export interface LedgerProblem {
  readonly fault: LedgerFault
  /** The entry where the ledger stops being right; absent for the header and the closing line. */
  readonly sequence?: number
}

/** The signed end of a ledger. */
export interface LedgerHead {
  readonly entries: number
  readonly last: string
}

export interface LedgerExpectation {
  readonly bucket: string
  /** The key that must have signed, in hexadecimal, known from elsewhere. */
  readonly publicKey?: string | undefined
  /** The end of an earlier export, which this ledger must continue. */
  readonly earlier?: LedgerHead | undefined
}

export interface LedgerVerdict {
  readonly problem: LedgerProblem | undefined
  /** Entries that are proved to be as they were written, if there is no problem. */
  readonly entries: number
  readonly publicKey: string | undefined
  readonly signedAt: string | undefined
  readonly last: string | undefined
  /** False when the browser knows no Ed25519: the chain was verified, the signature was not. */
  readonly isSignatureChecked: boolean
}

const ENTRY_LINE = /^(\{"sequence":[0-9]+,.*),"hash":"([0-9a-f]{64})"\}$/s
const HEX = /^([0-9a-f]{2})*$/

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

const hexOf = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), byte => byte.toString(16).padStart(2, '0')).join('')

const bytesOf = (hex: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(hex.match(/../g) ?? [], pair => Number.parseInt(pair, 16))

const sha256 = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  hexOf(await crypto.subtle.digest('SHA-256', bytes))

function fieldsOf(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

interface Header {
  readonly store: string
  readonly bucket: string
  readonly publicKey: string
}

interface Closing extends LedgerHead {
  readonly time: string
  readonly signature: string
}

function headerOf(line: string): Header | undefined {
  const { store, bucket, publicKey } = fieldsOf(line) ?? {}
  if (typeof store !== 'string' || typeof bucket !== 'string' || typeof publicKey !== 'string') return undefined
  const isExact = JSON.stringify({ ledger: 1, store, bucket, publicKey }) === line
  return isExact && HEX.test(publicKey) ? { store, bucket, publicKey } : undefined
}

export const publicKeyIn = (header: string): string | undefined => headerOf(header)?.publicKey

function closingOf(line: string): Closing | undefined {
  const { entries, last, time, signature } = fieldsOf(line) ?? {}
  if (typeof entries !== 'number' || typeof last !== 'string') return undefined
  if (typeof time !== 'string' || typeof signature !== 'string' || !HEX.test(signature)) return undefined
  const isExact = JSON.stringify({ entries, last, time, signature }) === line
  return isExact ? { entries, last, time, signature } : undefined
}

/** Undefined when the browser knows no Ed25519. */
async function isSigned(publicKey: string, text: string, signature: string): Promise<boolean | undefined> {
  const algorithm = { name: 'Ed25519' }
  try {
    const key = await crypto.subtle.importKey('raw', bytesOf(publicKey), algorithm, false, ['verify'])
    return await crypto.subtle.verify(algorithm, key, bytesOf(signature), utf8(text))
  } catch (error) {
    // A key of the wrong length is another error: nothing can be signed by it.
    return error instanceof DOMException && error.name === 'NotSupportedError' ? undefined : false
  }
}

/** Takes the lines of a ledger in order, in pieces of any size, and stops at the first that is wrong. */
export class LedgerVerification {
  readonly #expected: LedgerExpectation
  #header: Header | undefined
  #entries = 0
  #last = ''
  #problem: LedgerProblem | undefined

  constructor(expected: LedgerExpectation) {
    this.#expected = expected
  }

  get problem(): LedgerProblem | undefined {
    return this.#problem
  }

  get entries(): number {
    return this.#entries
  }

  async begin(line: string): Promise<void> {
    const header = headerOf(line)
    if (header === undefined) return this.#fail('header')
    const { bucket, publicKey } = this.#expected
    if (header.bucket !== bucket) return this.#fail('other ledger')
    if (publicKey !== undefined && publicKey !== header.publicKey) return this.#fail('other key')
    this.#header = header
    this.#last = await sha256(utf8(`holdfast ledger 1\n${header.store}\n${bucket}`))
    this.#compareEarlier()
  }

  async take(lines: readonly string[]): Promise<void> {
    if (this.#problem !== undefined) return
    const parts = lines.map(line => ENTRY_LINE.exec(line))
    const hashes = await Promise.all(parts.map(part => (part === null ? '' : sha256(utf8(`${part[1]}}`)))))
    for (const [i, part] of parts.entries()) {
      const fault = part === null ? 'entry' : this.#faultOf(`${part[1]}}`, part[2]!, hashes[i]!)
      if (fault !== undefined) return this.#fail(fault, this.#entries + 1)
      this.#entries++
      this.#last = hashes[i]!
      this.#compareEarlier()
      if (this.#problem !== undefined) return
    }
  }

  async end(line: string | undefined): Promise<LedgerVerdict> {
    const closing = line === undefined ? undefined : closingOf(line)
    let isSignatureChecked = false
    if (this.#problem === undefined) {
      const signed = await this.#checkClosing(line, closing)
      isSignatureChecked = signed !== undefined
    }
    return {
      problem: this.#problem,
      entries: this.#entries,
      publicKey: this.#header?.publicKey,
      signedAt: closing?.time,
      last: closing?.last,
      isSignatureChecked,
    }
  }

  #fail(fault: LedgerFault, sequence?: number): void {
    this.#problem = sequence === undefined ? { fault } : { fault, sequence }
  }

  #faultOf(text: string, hash: string, computed: string): LedgerFault | undefined {
    const entry = fieldsOf(text)
    if (entry === undefined) return 'entry'
    if (computed !== hash) return 'altered'
    if (entry.sequence !== this.#entries + 1) return 'sequence'
    return entry.previous === this.#last ? undefined : 'chain'
  }

  #compareEarlier(): void {
    const { earlier } = this.#expected
    if (earlier === undefined || earlier.entries !== this.#entries || earlier.last === this.#last) return
    this.#fail('earlier', this.#entries)
  }

  async #checkClosing(line: string | undefined, closing: Closing | undefined): Promise<boolean | undefined> {
    const { store, bucket, publicKey } = this.#header!
    const { earlier } = this.#expected
    if (line === undefined) return void this.#fail('truncated')
    if (closing === undefined) return void this.#fail('closing')
    const { entries, last, time, signature } = closing
    // An end that was cut off is shorter than the closing line says.
    if (entries !== this.#entries) return void this.#fail(entries > this.#entries ? 'truncated' : 'count')
    if (last !== this.#last) return void this.#fail('last')
    const text = ['holdfast ledger checkpoint', store, bucket, entries, last, time].join('\n')
    const signed = await isSigned(publicKey, text, signature)
    if (signed === false) this.#fail('signature')
    else if (earlier !== undefined && earlier.entries > entries) this.#fail('earlier')
    return signed
  }
}

/** Without it, as on a page over plain HTTP from another host, nothing can be verified here. */
export const canVerify = (): boolean => globalThis.crypto?.subtle !== undefined

/** SHA-256 of the key's bytes, in groups that a person can compare. */
export async function fingerprintOf(publicKey: string): Promise<string> {
  return (await sha256(bytesOf(publicKey))).match(/.{4}/g)!.join(' ')
}
