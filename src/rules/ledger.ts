/**
 * The chain of a ledger and how it is checked. Nothing here needs a store: whoever has the exported lines and knows
 * the server's public key can prove that no entry was altered, left out, moved or cut off. `docs/formats/ledger.md`
 * states the lines exactly.
 */
import { createHash } from 'node:crypto'
import { verifyEd25519 } from '../lib/ed25519.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Actor, ConfigurationShown, LedgerNote, LockShown } from '../model/ledger.ts'
import type { Lock } from '../model/version.ts'

/** Which ledger it is: the store by the id of its keyring, and the bucket's name. */
export interface LedgerName {
  readonly store: string
  readonly bucket: string
}

export interface Checkpoint {
  readonly entries: number
  readonly last: string
  readonly time: number
}

const FORMAT = 1
const HASH = '[0-9a-f]{64}'
const ENTRY_LINE = new RegExp(`^(\\{"sequence":[0-9]+,.*),"hash":"(${HASH})"\\}$`)

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')
const iso = (time: number): string => new Date(time).toISOString()

/** What the first entry of a ledger stands behind: another one for every store and bucket. */
export const genesisHash = ({ store, bucket }: LedgerName): string =>
  sha256(`holdfast ledger ${FORMAT}\n${store}\n${bucket}`)

export interface ChainPosition {
  readonly sequence: number
  readonly time: number
  readonly previous: string
}

/** The text of an entry, which is what gets hashed. */
export function entryText({ sequence, time, previous }: ChainPosition, by: Actor, note: LedgerNote): string {
  const { what, ...rest } = note
  return JSON.stringify({ sequence, time: iso(time), what, ...rest, by, previous })
}

export const hashOf = (text: string): string => sha256(text)

/** What is signed when somebody asks how a ledger ends. */
export const checkpointText = ({ store, bucket }: LedgerName, { entries, last, time }: Checkpoint): string =>
  ['holdfast ledger checkpoint', store, bucket, entries, last, iso(time)].join('\n')

export const headerLine = ({ store, bucket }: LedgerName, publicKey: string): string =>
  JSON.stringify({ ledger: FORMAT, store, bucket, publicKey })

export const entryLine = (text: string): string => `${text.slice(0, -1)},"hash":"${hashOf(text)}"}`

export const closingLine = ({ entries, last, time }: Checkpoint, signature: Buffer): string =>
  JSON.stringify({ entries, last, time: iso(time), signature: signature.toString('hex') })

export function lockForLedger({ hold, retention }: Lock): LockShown {
  return {
    hold: hold === undefined ? null : hold ? 'ON' : 'OFF',
    retention: retention === undefined ? null : { mode: retention.mode, until: iso(retention.until) },
  }
}

export function configurationForLedger({ lockEnabled, defaultRetention }: Bucket): ConfigurationShown {
  const shown = defaultRetention && { mode: defaultRetention.mode, days: defaultRetention.days }
  return { locks: lockEnabled, default: shown ?? null }
}

/** What is wrong with a ledger, and where it is seen first. */
export interface LedgerProblem {
  /** Counted from 1; the header is the first. */
  readonly line: number
  /** The entry concerned, if it is one. */
  readonly sequence?: number
  readonly reason: string
}

export interface LedgerVerdict {
  readonly problem: LedgerProblem | undefined
  readonly bucket: string | undefined
  readonly entries: number
  readonly last: string | undefined
  /** Who signed it, in hexadecimal. Without knowing whose key that should be, one only knows that somebody did. */
  readonly publicKey: string | undefined
}

export interface LedgerExpectation {
  /** The key that must have signed, in hexadecimal. */
  readonly publicKey?: string
  /** An earlier end of the same ledger, which this one must go on from. */
  readonly earlier?: Pick<Checkpoint, 'entries' | 'last'>
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Takes the lines of an exported ledger one by one and stops at the first that cannot be right. */
export class LedgerCheck {
  readonly #expected: LedgerExpectation
  #name: LedgerName | undefined
  #publicKey = ''
  #lines = 0
  #entries = 0
  #last = ''
  #closed = false
  #problem: LedgerProblem | undefined

  constructor(expected: LedgerExpectation = {}) {
    this.#expected = expected
  }

  take(line: string): void {
    if (this.#problem !== undefined) return
    this.#lines++
    const isEntry = this.#name !== undefined && line.startsWith('{"sequence"')
    const place = { line: this.#lines, ...(isEntry ? { sequence: this.#entries + 1 } : {}) }
    const reason = this.#judge(line)
    if (reason !== undefined) this.#problem = { ...place, reason }
  }

  end(): LedgerVerdict {
    if (this.#problem === undefined && !this.#closed) {
      this.#problem = { line: this.#lines + 1, reason: 'the ledger is cut off: its closing line is missing' }
    }
    return {
      problem: this.#problem,
      bucket: this.#name?.bucket,
      entries: this.#entries,
      last: this.#name && this.#last,
      publicKey: this.#name && this.#publicKey,
    }
  }

  #judge(line: string): string | undefined {
    if (this.#closed) return 'there is more behind the closing line'
    if (this.#name === undefined) return this.#header(line)
    return line.startsWith('{"sequence"') ? this.#entry(line) : this.#closing(line)
  }

  #header(line: string): string | undefined {
    const { store, bucket, publicKey } = parsed(line) ?? {}
    if (typeof store !== 'string' || typeof bucket !== 'string' || typeof publicKey !== 'string') {
      return 'the first line is not the header of a ledger'
    }
    const name = { store, bucket }
    if (headerLine(name, publicKey) !== line) return 'the header is not as it was written'
    const wanted = this.#expected.publicKey
    if (wanted !== undefined && wanted !== publicKey) return 'the ledger names another key than the one expected'
    this.#name = name
    this.#publicKey = publicKey
    this.#last = genesisHash(name)
    return this.#compareEarlier()
  }

  #entry(line: string): string | undefined {
    const [, start, hash] = ENTRY_LINE.exec(line) ?? []
    const text = `${start}}`
    const entry = start === undefined ? undefined : parsed(text)
    if (entry === undefined) return 'the line is not an entry'
    if (hashOf(text) !== hash) return 'the entry was altered: it does not have its hash'
    if (entry.sequence !== this.#entries + 1) return `an entry is missing or moved: this one is ${entry.sequence}`
    if (entry.previous !== this.#last) return 'the entry does not follow the one before it'
    this.#entries++
    this.#last = hash
    return this.#compareEarlier()
  }

  #compareEarlier(): string | undefined {
    const { earlier } = this.#expected
    if (earlier === undefined || earlier.entries !== this.#entries || earlier.last === this.#last) return undefined
    return `the ledger was another one when it had ${earlier.entries} entries`
  }

  #closing(line: string): string | undefined {
    const { entries, last, time, signature } = parsed(line) ?? {}
    const moment = typeof time === 'string' ? Date.parse(time) : Number.NaN
    const isClosing = typeof entries === 'number' && typeof last === 'string' && typeof signature === 'string'
    if (!isClosing || Number.isNaN(moment)) return 'the line is neither an entry nor the end of a ledger'
    const checkpoint = { entries, last, time: moment }
    const signed = Buffer.from(signature, 'hex')
    if (closingLine(checkpoint, signed) !== line) return 'the closing line is not as it was written'
    if (entries !== this.#entries) return `the closing line counts ${entries} entries, not ${this.#entries}`
    if (last !== this.#last) return 'the closing line names another last entry'
    if (!verifyEd25519(Buffer.from(this.#publicKey, 'hex'), checkpointText(this.#name!, checkpoint), signed)) {
      return 'the closing line is not signed by the key of the ledger'
    }
    const { earlier } = this.#expected
    if (earlier !== undefined && earlier.entries > entries) {
      return `the ledger is cut off: it had ${earlier.entries} entries before`
    }
    this.#closed = true
    return undefined
  }
}

/** All lines at once: the verdict, with the first bad entry if there is one. */
export function verifyLedger(lines: Iterable<string>, expected: LedgerExpectation = {}): LedgerVerdict {
  const check = new LedgerCheck(expected)
  for (const line of lines) check.take(line)
  return check.end()
}
