/** Access to the metrics besides administrators: Prometheus can send a bearer token but not sign requests. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { headerValues, type RawRequest } from '../http/raw-request.ts'

export interface ScrapeAccess {
  readonly token: string | undefined
  /** Any client may read metrics without bucket and account names. */
  readonly isPublic: boolean
}

const BEARER = /^Bearer +(\S+)$/i

export const hasBearerToken = (request: RawRequest): boolean =>
  headerValues(request, 'authorization').some(sent => BEARER.test(sent))

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** The extent of a scrape: everything with the token, no bucket or account names with public access. */
export function scrapeExtent(request: RawRequest, scraping: ScrapeAccess): 'everything' | 'without names' | undefined {
  if (isScrapeToken(request, scraping)) return 'everything'
  return scraping.isPublic ? 'without names' : undefined
}

function isScrapeToken(request: RawRequest, { token }: ScrapeAccess): boolean {
  const [sent, ...more] = headerValues(request, 'authorization')
  const given = BEARER.exec(sent ?? '')?.[1]
  if (token === undefined || given === undefined || more.length > 0) return false
  // Digests have equal lengths, as timingSafeEqual requires.
  return timingSafeEqual(digest(given), digest(token))
}
