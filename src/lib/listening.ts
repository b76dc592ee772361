/** What an HTTP server is told, whatever it serves: where to listen, and with which certificate. */
import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'

export interface Certificate {
  readonly cert: string
  readonly key: string
}

export function listen(server: Server | SecureServer, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve(server.address() as AddressInfo)
    })
  })
}

/** Connections from now on are secured with this one; false where the runtime cannot do that. */
export function renew(server: Server | SecureServer, certificate: Certificate): boolean {
  if (!('setSecureContext' in server)) return false
  server.setSecureContext(certificate)
  return true
}
