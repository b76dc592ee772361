/** What a request addresses, from its Host and its raw path. Keys are bytes as sent: decoded once, never normalised. */
import { lastOf } from '../lib/last-of.ts'
import { headerValues, type RawRequest, splitTarget } from '../lib/raw-request.ts'
import { Fault } from '../model/faults.ts'
import type { RequestView } from '../operations/operation.ts'
import { isBucketName } from '../rules/naming.ts'

export interface Address {
  /** Both empty for the service itself; the key empty for a bucket. */
  readonly bucket: string
  readonly key: string
  /** An alias is a host of the bucket's own name: whether there is such a bucket is not known yet. */
  readonly style: 'host' | 'path' | 'alias'
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const ESCAPE = /%([0-9a-fA-F]{2})|%/g

/** Percent-decoding of one piece of a target; what does not come out as UTF-8, or holds a zero byte, is no address. */
export function decodeTarget(text: string): string {
  if (!text.includes('%') && !/[\x80-\xff]/.test(text)) return text
  const bytes = text.replace(ESCAPE, (_, hex?: string) => {
    const code = hex === undefined ? 0 : Number.parseInt(hex, 16)
    if (code === 0) throw new Fault('InvalidURI')
    return String.fromCharCode(code)
  })
  try {
    return utf8.decode(Buffer.from(bytes, 'latin1'))
  } catch {
    throw new Fault('InvalidURI')
  }
}

/** Undefined for what names none. Most requests say the same as the one before. */
const hostIn = lastOf((sent: string): string | undefined =>
  /^[A-Za-z0-9.\-_]+(:\d+)?$|^\[[0-9a-fA-F:.]+\](:\d+)?$/.test(sent)
    ? sent.replace(/:\d+$/, '').toLowerCase()
    : undefined,
)

/** The host without its port, in lower case. */
export function hostOf(request: RawRequest): string {
  const hosts = headerValues(request, 'host')
  const host = hosts.length === 1 ? hostIn(hosts[0]!) : undefined
  if (host === undefined) throw new Fault('InvalidRequest', { reason: 'The Host header is missing or malformed' })
  return host
}

/** R4. Says where the service is: whoever gave the server a name of its own has not told it that name. */
export const noSuchHost = (host: string, baseHost: string): Fault =>
  new Fault('InvalidRequest', {
    reason:
      `The Host ${host} names no bucket of this service. ` +
      `It answers to ${baseHost}, which --base-host sets, to names below it, and to IP addresses.`,
  })

const isNumericHost = (host: string): boolean => host.startsWith('[') || /^\d+(\.\d+){3}$/.test(host)

export function addressOf(request: RawRequest, baseHost: string): Address {
  const { path } = splitTarget(request.target)
  if (!path.startsWith('/')) throw new Fault('InvalidURI')
  const host = hostOf(request)
  const rest = path.slice(1)
  if (host.endsWith(`.${baseHost}`)) {
    const bucket = host.slice(0, -baseHost.length - 1)
    if (!isBucketName(bucket)) throw new Fault('InvalidBucketName', { BucketName: bucket })
    return { bucket, key: decodeTarget(rest), style: 'host' }
  }
  // An address in place of a name reaches the service itself: there is no name to put a bucket before.
  if (host !== baseHost && host !== 'localhost' && !isNumericHost(host)) {
    if (isBucketName(host)) return { bucket: host, key: decodeTarget(rest), style: 'alias' }
    throw noSuchHost(host, baseHost)
  }
  if (rest.startsWith('/')) throw new Fault('InvalidURI')
  const slash = rest.indexOf('/')
  const bucket = decodeTarget(slash < 0 ? rest : rest.slice(0, slash))
  return { bucket, key: slash < 0 ? '' : decodeTarget(rest.slice(slash + 1)), style: 'path' }
}

const encoded = (key: string): string => encodeURIComponent(key).replaceAll('%2F', '/')

/** R88. The URL of what was addressed, in the style in which it was. */
export function locationOf({ bucket, key, style }: Address, view: RequestView, secure: boolean): string {
  const host = `${secure ? 'https' : 'http'}://${view.header('host') ?? ''}`
  return style === 'path' ? `${host}/${bucket}/${encoded(key)}` : `${host}/${encoded(key)}`
}
