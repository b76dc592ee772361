/** The cookie of a session. Cookies are shared by all ports of a host, so its name contains the port. */
import type { IncomingMessage } from 'node:http'

const PAIR = /^\s*([^=\s]+)=(\S+?)\s*$/

const isSecure = (origin: string): boolean => origin.startsWith('https:')

/** A sign-in with OpenID Connect must be finished within this time. */
export const OIDC_SECONDS = 600

/** Browsers accept the prefix `__Host-` only over TLS, and then from this host alone. */
function cookieName(origin: string, purpose: 'session' | 'oidc'): string {
  const port = new URL(origin).port || (isSecure(origin) ? '443' : '80')
  return `${isSecure(origin) ? '__Host-' : ''}holdfast-${purpose}-${port}`
}

const attributes = (origin: string): string => `Path=/; HttpOnly; SameSite=Strict${isSecure(origin) ? '; Secure' : ''}`

/** Lasts until the browser ends; the server ends the session earlier. */
export const sessionCookie = (origin: string, id: string): string =>
  `${cookieName(origin, 'session')}=${id}; ${attributes(origin)}`

/** Binds a sign-in that is begun to its browser. */
export const oidcCookie = (origin: string, id: string): string =>
  `${cookieName(origin, 'oidc')}=${id}; Max-Age=${OIDC_SECONDS}; ${attributes(origin)}`

export const clearedCookie = (origin: string): string =>
  `${cookieName(origin, 'session')}=; Max-Age=0; ${attributes(origin)}`

/** All session ids sent: a page on another port of the same host can add cookies of the same name. */
export const sentSessionIds = (message: IncomingMessage, origin: string): string[] =>
  valuesOf(message, cookieName(origin, 'session'))

export const sentOidcIds = (message: IncomingMessage, origin: string): string[] =>
  valuesOf(message, cookieName(origin, 'oidc'))

function valuesOf({ headers }: IncomingMessage, name: string): string[] {
  return (headers.cookie ?? '')
    .split(';')
    .map(pair => PAIR.exec(pair))
    .filter(pair => pair?.[1] === name)
    .map(pair => pair![2]!)
}
