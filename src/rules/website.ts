/** Decides how a website responds to a request: which redirect, which page. The caller looks pages up. */
import type { RoutingRule, Website, WebsiteRedirect } from './documents/website.ts'

/** A website request. */
export interface WebsiteVisit {
  /** As requested, before the index suffix is appended. */
  readonly key: string
  readonly scheme: 'http' | 'https'
  /** The Host header, with its port. */
  readonly host: string
  /** As sent, without the question mark; empty when there is none. */
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

/** Percent-encodes the bytes that a Location header cannot carry: spaces, controls and everything beyond ASCII. */
const encodedLocation = (text: string): string =>
  Buffer.from(text, 'utf8')
    .toString('latin1')
    .replace(/[^\x21-\x7e]/g, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

/** R28. The redirect that the object's own metadata names. */
export const objectRedirect = (redirect: string): Redirection => ({
  status: MOVED,
  location: encodedLocation(redirect),
})

/** Redirects keep the query string, except those from an object's own metadata. */
const queryText = ({ query }: WebsiteVisit): string => (query === '' ? '' : `?${encodedLocation(query)}`)

function follow({ redirect, keyPrefix = '' }: RoutingRule, visit: WebsiteVisit): Redirection {
  return { status: redirect.status, location: locationOf(redirect, keyPrefix, visit) + queryText(visit) }
}

function locationOf(to: WebsiteRedirect, keyPrefix: string, { key, scheme, host }: WebsiteVisit): string {
  const replaced = to.replacePrefixWith === undefined ? key : to.replacePrefixWith + key.slice(keyPrefix.length)
  const path = encodedPath(to.replaceKeyWith ?? replaced)
  return `${to.protocol ?? scheme}://${to.hostName ?? host}/${path}`
}

/** The redirect that applies before any page is looked up. Rules with an error condition do not count. */
export function redirectBeforeLookup(website: Website, visit: WebsiteVisit): Redirection | undefined {
  const { key, scheme } = visit
  if (website.kind === 'redirect') {
    const { protocol = scheme, hostName } = website
    return { status: MOVED, location: `${protocol}://${hostName}/${encodedPath(key)}${queryText(visit)}` }
  }
  const rule = website.rules.find(
    ({ errorStatus, keyPrefix = '' }) => errorStatus === undefined && key.startsWith(keyPrefix),
  )
  return rule && follow(rule, visit)
}

/** The redirect that replaces this error. */
export function redirectOnError({ rules }: Pages, visit: WebsiteVisit, status: number): Redirection | undefined {
  const rule = rules.find(
    ({ errorStatus, keyPrefix = '' }) => errorStatus === status && visit.key.startsWith(keyPrefix),
  )
  return rule && follow(rule, visit)
}

/** The key of the page: a folder is served by its index. */
export const pageKey = ({ indexSuffix }: Pages, key: string): string =>
  key === '' || key.endsWith('/') ? key + indexSuffix : key

/** The index of a folder that was requested without its trailing slash. */
export const folderIndex = ({ indexSuffix }: Pages, key: string): string => `${key}/${indexSuffix}`

/** Redirects to the folder. An unencoded leading slash or backslash would turn the path into another host's name. */
export const redirectToFolder = (visit: WebsiteVisit): Redirection => ({
  status: FOUND,
  location: `/${encodedPath(visit.key).replace(/^\/+/, slashes => '%2F'.repeat(slashes.length))}/${queryText(visit)}`,
})
