/** Entries of a ledger as they are read. Their fields are in `docs/formats/ledger.md`. */

export interface LedgerLock {
  readonly hold: 'ON' | 'OFF' | null
  readonly retention: { readonly mode: 'governance' | 'compliance'; readonly until: string } | null
}

export interface LedgerConfiguration {
  readonly locks: boolean
  readonly default: { readonly mode: 'governance' | 'compliance'; readonly days: number } | null
}

export interface LedgerEntry {
  readonly sequence: number
  readonly time: string
  readonly what: string
  readonly key?: string
  readonly versionId?: string
  readonly before?: unknown
  readonly after?: unknown
  readonly bypass?: boolean
  readonly reason?: string
  readonly times?: number
  readonly keyName?: string
  readonly of?: string
  readonly version?: number
  readonly by: {
    readonly account: string
    readonly user?: string
    readonly accessKey?: string
    readonly request?: string
  }
  readonly hash: string
}

const isText = (value: unknown): boolean => value === undefined || typeof value === 'string'

/** A line that is no entry is shown as such; only verification judges it. */
export function entryOf(line: string): LedgerEntry | undefined {
  try {
    const entry = JSON.parse(line) as LedgerEntry
    const { sequence, time, what, by, key, versionId, keyName, of, reason } = entry
    const isShaped = Number.isInteger(sequence) && typeof what === 'string' && typeof by.account === 'string'
    const texts = [key, versionId, keyName, of, reason, by.user, by.accessKey, by.request]
    return isShaped && !Number.isNaN(Date.parse(time)) && texts.every(isText) ? entry : undefined
  } catch {
    return undefined
  }
}

/** The ledger of the store itself; no bucket can have the name. */
export const STORE = '_store'

/** The kinds that a person filters by. */
export const KINDS = {
  holds: ['hold'],
  retention: ['retention'],
  created: ['created'],
  refused: ['delete refused', 'retention refused'],
  removed: ['removed'],
  configuration: ['configuration', 'bucket removed'],
  keys: ['key disabled', 'key enabled', 'key rotated', 'keys rewrapped', 'clock confirmed'],
} as const

export type Kind = keyof typeof KINDS

export const kindNamed = (name: string | null): Kind | undefined =>
  name !== null && Object.hasOwn(KINDS, name) ? (name as Kind) : undefined

export interface EntryFilter {
  readonly text: string
  readonly kind: Kind | undefined
}

export function matches(entry: LedgerEntry, { text, kind }: EntryFilter): boolean {
  if (kind !== undefined && !(KINDS[kind] as readonly string[]).includes(entry.what)) return false
  const { key = '', versionId = '', keyName = '', by } = entry
  const searched = [key, versionId, keyName, by.account, by.user ?? '', by.accessKey ?? '', by.request ?? '']
  const wanted = text.trim().toLowerCase()
  return searched.some(value => value.toLowerCase().includes(wanted))
}
