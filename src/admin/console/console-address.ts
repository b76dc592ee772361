/**
 * The addresses under which browsers reach the console. A request with another host name comes from a page whose name
 * was made to resolve to this server (DNS rebinding), and gets neither pages nor a session.
 */
import { X509Certificate } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Certificate } from '../../http/listen.ts'
import { Fault } from '../../model/faults.ts'

export interface ConsoleSettings {
  /** The host that the console listens on, which may be a name. */
  readonly host: string
  /** Origins that a proxy serves the console under. */
  readonly urls: readonly string[]
  /** The origin of the object API for browsers; without it, the console's host name with the port of the object API. */
  readonly objectUrl: string | undefined
  readonly objectPort: number
}

/** The address of one request to the console. */
export interface ConsoleVisit {
  readonly origin: string
  readonly objectUrl: string
}

/** Names that no foreign page can have: addresses, and names that always mean the machine of the browser. */
const isLocalName = (name: string): boolean =>
  isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || name === 'localhost' || name.endsWith('.localhost')

export class ConsoleAddress {
  readonly #settings: ConsoleSettings
  readonly #scheme: 'http' | 'https'
  #certificate: X509Certificate | undefined

  constructor(settings: ConsoleSettings, certificate: Certificate | undefined) {
    this.#settings = settings
    this.#scheme = certificate === undefined ? 'http' : 'https'
    this.#certificate = certificate && new X509Certificate(certificate.cert)
  }

  /** The names of a renewed certificate are names of the console. */
  renew({ cert }: Certificate): void {
    this.#certificate = new X509Certificate(cert)
  }

  /** Throws for a host name that is not the console's. */
  visit(message: IncomingMessage): ConsoleVisit {
    const sent = this.#sentUrl(message)
    const proxied = this.#settings.urls.find(url => new URL(url).host === sent.host || url === sent.origin)
    if (proxied !== undefined) return { origin: proxied, objectUrl: this.#objectUrl(new URL(proxied)) }
    if (!this.#isOwnName(sent.hostname)) {
      const reason = `The console is not configured for the host name ${sent.hostname}. Set --console-url.`
      throw new Fault('MisdirectedRequest', { reason })
    }
    return { origin: sent.origin, objectUrl: this.#objectUrl(sent) }
  }

  #sentUrl({ headers }: IncomingMessage): URL {
    try {
      return new URL(`${this.#scheme}://${headers.host ?? ''}`)
    } catch {
      throw new Fault('MisdirectedRequest', { reason: 'The Host header is missing or not valid.' })
    }
  }

  /** A browser that accepted the certificate for a name has reached the server that the name belongs to. */
  #isOwnName(name: string): boolean {
    if (isLocalName(name) || name === this.#settings.host.toLowerCase()) return true
    return this.#certificate?.checkHost(name) !== undefined
  }

  #objectUrl({ hostname }: URL): string {
    const { objectUrl, objectPort } = this.#settings
    return objectUrl ?? new URL(`${this.#scheme}://${hostname}:${objectPort}`).origin
  }
}
