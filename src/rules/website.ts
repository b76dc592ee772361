/** What a website does with a request: where it sends it, which page it shows. Looking pages up is done elsewhere. */
import type { RoutingRule, Website, WebsiteRedirect } from './documents/website.ts'

/** What a visitor asked for. */
export interface WebsiteVisit {
  /** As asked, before the name of an index is put behind it. */
  readonly key: string
  readonly scheme: 'http' | 'https'
  /** As the visitor wrote it, with its port. */
  readonly host: string
  /** As the visitor wrote it, without its mark; empty when there is none. */
  readonly query: string
}

export interface Redirection {
  readonly status: number
  readonly location: string
}

export type Pages = Extract<Website, { readonly kind: 'pages' }>

const MOVED = 301
const FOUND = 302

const encodedPath = (key: string): string => encodeURIComponent(key).replaceAll('%2F', '/')

/** What stands in no Location as it is: spaces, controls and everything beyond ASCII. */
const encodedLocation = (text: string): string =>
  Buffer.from(text, 'utf8')
    .toString('latin1')
    .replace(/[^\x21-\x7e]/g, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

/** R28. Where the object itself sends those who ask for it. */
export const redirectionOf = (redirect: string): Redirection => ({ status: MOVED, location: encodedLocation(redirect) })

/** The query goes along with a redirect, except with one that an object's own metadata names. */
const asked = ({ query }: WebsiteVisit): string => (query === '' ? '' : `?${encodedLocation(query)}`)

function follow({ redirect, keyPrefix = '' }: RoutingRule, visited: WebsiteVisit): Redirection {
  return { status: redirect.status, location: locationOf(redirect, keyPrefix, visited) + asked(visited) }
}

function locationOf(to: WebsiteRedirect, keyPrefix: string, { key, scheme, host }: WebsiteVisit): string {
  const replaced = to.replacePrefixWith === undefined ? key : to.replacePrefixWith + key.slice(keyPrefix.length)
  const path = encodedPath(to.replaceKeyWith ?? replaced)
  return `${to.protocol ?? scheme}://${to.hostName ?? host}/${path}`
}

/** Where a visitor is sent without a look at any page. Rules that wait for an error are none of these. */
export function redirectedFirst(website: Website, visited: WebsiteVisit): Redirection | undefined {
  const { key, scheme } = visited
  if (website.kind === 'redirect') {
    const { protocol = scheme, hostName } = website
    return { status: MOVED, location: `${protocol}://${hostName}/${encodedPath(key)}${asked(visited)}` }
  }
  const rule = website.rules.find(
    ({ errorStatus, keyPrefix = '' }) => errorStatus === undefined && key.startsWith(keyPrefix),
  )
  return rule && follow(rule, visited)
}

/** Where a visitor is sent in place of this error. */
export function redirectedOnError({ rules }: Pages, visited: WebsiteVisit, status: number): Redirection | undefined {
  const rule = rules.find(
    ({ errorStatus, keyPrefix = '' }) => errorStatus === status && visited.key.startsWith(keyPrefix),
  )
  return rule && follow(rule, visited)
}

/** The page to look for: a folder stands for its index. */
export const pageKey = ({ indexSuffix }: Pages, key: string): string =>
  key === '' || key.endsWith('/') ? key + indexSuffix : key

/** The index of a folder whose name was asked for without the slash behind it. */
export const folderIndex = ({ indexSuffix }: Pages, key: string): string => `${key}/${indexSuffix}`

/** To the folder itself. A slash or backslash in front would make the rest of the path the name of another host. */
export const toFolder = (visited: WebsiteVisit): Redirection => ({
  status: FOUND,
  location: `/${encodedPath(visited.key).replace(/^\/+/, slashes => '%2F'.repeat(slashes.length))}/${asked(visited)}`,
})
