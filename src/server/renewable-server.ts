/**
 * A server whose certificate can be renewed while it serves. Node replaces it in place. Bun cannot: there a new server
 * takes over the port, and the old one finishes its requests and closes idle connections.
 */
import type { AddressInfo } from 'node:net'
import type { Certificate } from '../http/listen.ts'

interface TlsServer {
  listen(host: string, port: number): Promise<AddressInfo>
  /** False where the runtime cannot replace the certificate of a server. */
  renew(certificate: Certificate): boolean
  close(): Promise<void>
}

export class RenewableServer<T extends TlsServer> {
  readonly #make: (certificate: Certificate | undefined) => T
  readonly #host: string
  #current: T
  #port = 0
  readonly #closing = new Set<Promise<void>>()

  constructor(host: string, certificate: Certificate | undefined, make: (certificate: Certificate | undefined) => T) {
    this.#host = host
    this.#make = make
    this.#current = make(certificate)
  }

  get current(): T {
    return this.#current
  }

  async listen(port: number): Promise<AddressInfo> {
    const address = await this.#current.listen(this.#host, port)
    this.#port = address.port
    return address
  }

  async renew(certificate: Certificate): Promise<void> {
    if (this.#current.renew(certificate)) return
    const next = this.#make(certificate)
    const closing = this.#current.close()
    this.#closing.add(closing)
    closing.finally(() => this.#closing.delete(closing))
    this.#current = next
    await next.listen(this.#host, this.#port)
  }

  async close(): Promise<void> {
    await Promise.all([this.#current.close(), ...this.#closing])
  }
}
