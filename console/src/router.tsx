/** Addresses of pages. Keys and prefixes travel in the query, where a URL keeps every character of them. */
import { type AnchorHTMLAttributes, type MouseEvent, type ReactNode, useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  window.addEventListener('popstate', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('popstate', listener)
  }
}

const here = (): string => window.location.pathname + window.location.search

export function navigate(to: string, { replace = false } = {}): void {
  if (to === here()) return
  if (replace) window.history.replaceState(null, '', to)
  else window.history.pushState(null, '', to)
  for (const listener of listeners) listener()
}

export interface Place {
  readonly segments: readonly string[]
  readonly query: URLSearchParams
  readonly address: string
}

export function usePlace(): Place {
  const address = useSyncExternalStore(subscribe, here)
  const [path = '', search = ''] = address.split(/\?(.*)/s)
  const segments = path.split('/').filter(Boolean).map(decoded)
  return { segments, query: new URLSearchParams(search), address }
}

/** A malformed address shows the page of an unknown place instead of failing. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}

export const toBuckets = (): string => '/buckets'

export function toFolder(bucket: string, prefix = '', options: { search?: string; deleted?: boolean } = {}): string {
  const path = `/buckets/${encodeURIComponent(bucket)}`
  return withQuery(path, { prefix, search: options.search, deleted: options.deleted ? 'yes' : undefined })
}

export const toSettings = (bucket: string): string => `/buckets/${encodeURIComponent(bucket)}/settings`

export const toHolds = (bucket: string, prefix?: string): string =>
  withQuery(`/buckets/${encodeURIComponent(bucket)}/holds`, { prefix })

export const SERVER_PARTS = ['', 'processes', 'integrity', 'encryption', 'usage', 'configuration'] as const
export type ServerPart = (typeof SERVER_PARTS)[number]

export const toServer = (part: ServerPart = ''): string => (part === '' ? '/server' : `/server/${part}`)
export const toNewScrub = (): string => withQuery(toServer('integrity'), { start: 'scrub' })
export const toNewFsck = (): string => withQuery(toServer('integrity'), { start: 'fsck' })
export const toNewBackup = (): string => withQuery(toServer('integrity'), { start: 'backup' })

export type RuleView = 'form' | 'document'

/** Without a kind, the list of all rules. */
export function toRules(bucket: string, kind?: string, view?: RuleView): string {
  const path = `/buckets/${encodeURIComponent(bucket)}/rules`
  return withQuery(path, { kind, view: view === 'document' ? view : undefined })
}

export const toLedgers = (): string => '/ledger'

interface LedgerAddress {
  readonly text?: string
  readonly kind?: string | undefined
  /** The entry to show. */
  readonly entry?: number
}

export function toLedger(bucket: string, { text, kind, entry }: LedgerAddress = {}): string {
  return withQuery(`/ledger/${encodeURIComponent(bucket)}`, { filter: text, kind, entry: entry?.toString() })
}

export const toAccess = (): string => '/access'
export const toPublicAccess = (): string => '/access/public'
export const toAccount = (accountId: string): string => `/access/accounts/${encodeURIComponent(accountId)}`
export const toUser = (accountId: string, user: string): string =>
  `${toAccount(accountId)}/users/${encodeURIComponent(user)}`
/** Without a name, a new one. */
export const toUserPolicy = (accountId: string, user: string, policy = ''): string =>
  `${toUser(accountId, user)}/policies/${encodeURIComponent(policy)}`
export const toBucketAccess = (bucket: string): string => `/buckets/${encodeURIComponent(bucket)}/access`

/** A question, with the fields of the form. */
export interface ExplainFields {
  /** An access key; empty for a caller without one. */
  readonly as?: string | undefined
  readonly action?: string | undefined
  readonly bucket?: string | undefined
  readonly key?: string | undefined
  readonly version?: string | undefined
  readonly address?: string | undefined
  readonly tls?: string | undefined
  readonly time?: string | undefined
  readonly bypass?: string | undefined
}

export const toExplain = (fields: ExplainFields = {}): string => withQuery('/access/explain', { ...fields })

export type ObjectTab = 'overview' | 'preview' | 'versions' | 'holds'

export function toObject(bucket: string, key: string, options: { tab?: ObjectTab; versionId?: string } = {}): string {
  const path = `/buckets/${encodeURIComponent(bucket)}/object`
  return withQuery(path, { key, tab: options.tab, version: options.versionId })
}

const opensElsewhere = (event: MouseEvent): boolean =>
  event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey

type LinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & { readonly href: string; readonly children?: ReactNode }

/** A link that changes the page without loading it again. */
export function Link({ href, onClick, ...rest }: LinkProps) {
  const follow = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event)
    if (event.defaultPrevented || opensElsewhere(event)) return
    event.preventDefault()
    navigate(href)
  }
  return <a href={href} onClick={follow} {...rest} />
}
