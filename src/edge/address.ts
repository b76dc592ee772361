/**
 * R3. What a request addresses, from its Host and its raw path. Keys are bytes as sent: decoded once, never normalised.
 */

import { headerValues, type RawRequest, splitTarget } from '../http/raw-request.ts'
import { Fault } from '../model/faults.ts'
import type { RequestView } from '../operations/context.ts'
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

/** Undefined for a value that names no host. A trailing dot, as in a fully qualified name, is dropped. */
const hostIn = (sent: string): string | undefined =>
  /^[A-Za-z0-9\-_]+(\.[A-Za-z0-9\-_]+)*\.?(:\d+)?$|^\[[0-9a-fA-F:.]+\](:\d+)?$/.test(sent)
    ? sent.replace(/\.?(:\d+)?$/, '').toLowerCase()
    : undefined

/** The host without its port, in lower case. */
export function hostOf(request: RawRequest): string {
  const hosts = headerValues(request, 'host')
  const host = hosts.length === 1 ? hostIn(hosts[0]!) : undefined
  if (host === undefined) throw new Fault('InvalidRequest', { reason: 'The Host header is missing or malformed' })
  return host
}

/** The labels before the longest matching base name; undefined when the host is below none of them. */
export function labelBelow(host: string, names: readonly string[]): string | undefined {
  let found: string | undefined
  for (const name of names) {
    if (host.length <= name.length + 1 || !host.endsWith(name) || host[host.length - name.length - 1] !== '.') continue
    const label = host.slice(0, -name.length - 1)
    if (found === undefined || label.length < found.length) found = label
  }
  return found
}

/**
 * R4. A host of a bucket's own name (a CNAME) has a dot. A name of one label is a machine's or a container's: if a
 * bucket could take it, whoever makes that bucket would get the requests that others send there.
 */
const couldBeBucket = (host: string): boolean => host.includes('.') && isBucketName(host)

function pathOf(request: RawRequest): string {
  const { path } = splitTarget(request.target)
  if (!path.startsWith('/')) throw new Fault('InvalidURI')
  return path
}

/** R3, D20. A bucket in the host, or in the path. */
export function addressOf(request: RawRequest, baseHosts: readonly string[]): Address {
  const host = hostOf(request)
  if (host === 'localhost' || baseHosts.includes(host)) return pathAddress(request)
  const label = labelBelow(host, baseHosts)
  if (label !== undefined) {
    if (!isBucketName(label)) throw noSuchLabel(host, label)
    return { bucket: label, key: decodeTarget(pathOf(request).slice(1)), style: 'host' }
  }
  if (couldBeBucket(host)) return { bucket: host, key: decodeTarget(pathOf(request).slice(1)), style: 'alias' }
  return pathAddress(request)
}

const noSuchLabel = (host: string, label: string): Fault =>
  new Fault('InvalidRequest', { reason: `The Host ${host} names no bucket: ${label} is not a valid bucket name.` })

/** R4. The bucket is the first step of the path: so on every host that is no bucket's. */
export function pathAddress(request: RawRequest): Address {
  const rest = pathOf(request).slice(1)
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
