/**
 * The hash chain of a ledger and its verification. Nothing here needs a store: with the exported lines and the server's
 * public key an auditor can prove that no entry was altered, omitted, reordered or truncated. `docs/formats/ledger.md`
 * specifies the lines.
 */
import { createHash } from 'node:crypto'
import { verifyEd25519 } from '../lib/ed25519.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Actor, LedgerConfiguration, LedgerLock, LedgerNote } from '../model/ledger.ts'
import type { Lock } from '../model/version.ts'

/** Identifies a ledger: the id of the store's keyring, and the bucket's name. */
export interface LedgerName {
  readonly store: string
  readonly bucket: string
}

interface Checkpoint {
  readonly entries: number
  readonly last: string
  readonly time: number
}

const FORMAT = 1
const HASH = '[0-9a-f]{64}'
/** `s`: a key may contain characters that regular expressions treat as line ends and JSON does not escape. */
const ENTRY_LINE = new RegExp(`^(\\{"sequence":[0-9]+,.*),"hash":"(${HASH})"\\}$`, 's')

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')
const iso = (time: number): string => new Date(time).toISOString()

/** The hash that the first entry refers to; different for every store and bucket. */
export const genesisHash = ({ store, bucket }: LedgerName): string =>
  sha256(`holdfast ledger ${FORMAT}\n${store}\n${bucket}`)

interface ChainPosition {
  readonly sequence: number
  readonly time: number
  readonly previous: string
}

/** The text of an entry, which is the hash input. */
export function entryText({ sequence, time, previous }: ChainPosition, by: Actor, note: LedgerNote): string {
  const { what, ...rest } = note
  return JSON.stringify({ sequence, time: iso(time), what, ...rest, by, previous })
}

export const hashOf = (text: string): string => sha256(text)

/** The text that a checkpoint signs: the head of the ledger at a time. */
export const checkpointText = ({ store, bucket }: LedgerName, { entries, last, time }: Checkpoint): string =>
  ['holdfast ledger checkpoint', store, bucket, entries, last, iso(time)].join('\n')

export const headerLine = ({ store, bucket }: LedgerName, publicKey: string): string =>
  JSON.stringify({ ledger: FORMAT, store, bucket, publicKey })

export const entryLine = (text: string): string => `${text.slice(0, -1)},"hash":"${hashOf(text)}"}`

export const closingLine = ({ entries, last, time }: Checkpoint, signature: Buffer): string =>
  JSON.stringify({ entries, last, time: iso(time), signature: signature.toString('hex') })

export function lockForLedger({ hold, retention }: Lock): LedgerLock {
  return {
    hold: hold === undefined ? null : hold ? 'ON' : 'OFF',
    retention: retention === undefined ? null : { mode: retention.mode, until: iso(retention.until) },
  }
}

export function configurationForLedger({ lockEnabled, defaultRetention }: Bucket): LedgerConfiguration {
  const shown = defaultRetention && { mode: defaultRetention.mode, days: defaultRetention.days }
  return { locks: lockEnabled, default: shown ?? null }
}

/** The first problem found in a ledger, and where. */
interface LedgerProblem {
  /** Counted from 1; the header is the first. */
  readonly line: number
  /** The affected entry, if the line is one. */
  readonly sequence?: number
  readonly reason: string
}

export interface LedgerVerdict {
  readonly problem: LedgerProblem | undefined
  readonly bucket: string | undefined
  readonly entries: number
  readonly last: string | undefined
  /** The signing key in hexadecimal. It proves nothing unless it is compared with the server's known key. */
  readonly publicKey: string | undefined
}

export interface LedgerExpectation {
  /** The key that must have signed, in hexadecimal. */
  readonly publicKey?: string
  /** An earlier checkpoint of the same ledger, which this one must extend. */
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

/** Checks the lines of an exported ledger one by one and stops at the first invalid one. */
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

  /** False from the first problem on. */
  take(line: string): boolean {
    if (this.#problem !== undefined) return false
    this.#lines++
    const isEntry = this.#name !== undefined && line.startsWith('{"sequence"')
    const place = { line: this.#lines, ...(isEntry ? { sequence: this.#entries + 1 } : {}) }
    const reason = this.#checkLine(line)
    if (reason !== undefined) this.#problem = { ...place, reason }
    return reason === undefined
  }

  end(): LedgerVerdict {
    if (this.#problem === undefined && !this.#closed) {
      this.#problem = { line: this.#lines + 1, reason: 'the ledger is truncated: its closing line is missing' }
    }
    return {
      problem: this.#problem,
      bucket: this.#name?.bucket,
      entries: this.#entries,
      last: this.#name && this.#last,
      publicKey: this.#name && this.#publicKey,
    }
  }

  #checkLine(line: string): string | undefined {
    if (this.#closed) return 'there are lines after the closing line'
    if (this.#name === undefined) return this.#header(line)
    return line.startsWith('{"sequence"') ? this.#entry(line) : this.#closing(line)
  }

  #header(line: string): string | undefined {
    const { store, bucket, publicKey } = parsed(line) ?? {}
    if (typeof store !== 'string' || typeof bucket !== 'string' || typeof publicKey !== 'string') {
      return 'the first line is not the header of a ledger'
    }
    const name = { store, bucket }
    if (headerLine(name, publicKey) !== line) return 'the header is not in canonical form'
    const wanted = this.#expected.publicKey
    if (wanted !== undefined && wanted !== publicKey) return 'the ledger is signed by a different key than expected'
    this.#name = name
    this.#publicKey = publicKey
    this.#last = genesisHash(name)
    return this.#compareEarlier()
  }

  #entry(line: string): string | undefined {
    const [, start, hash] = ENTRY_LINE.exec(line) ?? []
    const text = `${start}}`
    const entry = start === undefined ? undefined : parsed(text)
    if (entry === undefined) return 'the line is not a valid entry'
    if (hashOf(text) !== hash) return 'the entry was altered: its hash does not match'
    if (entry.sequence !== this.#entries + 1)
      return `an entry is missing or out of order: this one has sequence ${entry.sequence}`
    if (entry.previous !== this.#last) return 'the entry does not follow the one before it'
    this.#entries++
    this.#last = hash
    return this.#compareEarlier()
  }

  #compareEarlier(): string | undefined {
    const { earlier } = this.#expected
    if (earlier === undefined || earlier.entries !== this.#entries || earlier.last === this.#last) return undefined
    return `the ledger differs from the earlier checkpoint at ${earlier.entries} entries`
  }

  #closing(line: string): string | undefined {
    const { entries, last, time, signature } = parsed(line) ?? {}
    const moment = typeof time === 'string' ? Date.parse(time) : Number.NaN
    const isClosing = typeof entries === 'number' && typeof last === 'string' && typeof signature === 'string'
    if (!isClosing || Number.isNaN(moment)) return 'the line is neither an entry nor a closing line'
    const checkpoint = { entries, last, time: moment }
    const signed = Buffer.from(signature, 'hex')
    if (closingLine(checkpoint, signed) !== line) return 'the closing line is not in canonical form'
    if (entries !== this.#entries) return `the closing line counts ${entries} entries, not ${this.#entries}`
    if (last !== this.#last) return 'the closing line names a different last entry'
    if (!verifyEd25519(Buffer.from(this.#publicKey, 'hex'), checkpointText(this.#name!, checkpoint), signed)) {
      return "the closing line's signature does not match the ledger's key"
    }
    const { earlier } = this.#expected
    if (earlier !== undefined && earlier.entries > entries) {
      return `the ledger is truncated: it had ${earlier.entries} entries before`
    }
    this.#closed = true
    return undefined
  }
}
