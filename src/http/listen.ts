/** The address and the certificate of an HTTP server. */
import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export interface ListenError extends NodeJS.ErrnoException {
  readonly host: string
  readonly port: number
}

/** Runtimes word an address that cannot be bound differently. */
export const listenFailure = (error: Error, host: string, port: number): ListenError =>
  Object.assign(error, { host, port })

export function listen(server: Server | SecureServer, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(listenFailure(error, host, port))
    server.once('error', fail)
    server.listen(port, host, () => {
      server.off('error', fail)
      resolve(server.address() as AddressInfo)
    })
  })
}

/** New connections use this certificate; false where the runtime cannot replace it. */
export function renew(server: Server | SecureServer, certificate: Certificate): boolean {
  if (!('setSecureContext' in server)) return false
  server.setSecureContext(certificate)
  return true
}
