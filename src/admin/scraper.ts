/** Who may read the measures besides administrators: Prometheus can send a token, and sign nothing. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { headerValues, type RawRequest } from '../http/raw-request.ts'

export interface ScrapeRequest {
  readonly token: string | undefined
  /** Everybody may. */
  readonly isPublic: boolean
}

const BEARER = /^Bearer +(\S+)$/i

/** Whether a request brings a token at all. */
export const bringsToken = (request: RawRequest): boolean =>
  headerValues(request, 'authorization').some(sent => BEARER.test(sent))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** How much may be read: everything with the token; no bucket or account names where access is public. */
export function scrapeOf(request: RawRequest, scraping: ScrapeRequest): 'everything' | 'without names' | undefined {
  if (hasToken(request, scraping)) return 'everything'
  return scraping.isPublic ? 'without names' : undefined
}

function hasToken(request: RawRequest, { token }: ScrapeRequest): boolean {
  const [sent, ...more] = headerValues(request, 'authorization')
  const given = BEARER.exec(sent ?? '')?.[1]
  if (token === undefined || given === undefined || more.length > 0) return false
  // Digests are equally long, whatever was sent.
  return timingSafeEqual(digest(given), digest(token))
}
