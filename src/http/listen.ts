/** The address and the certificate of an HTTP server. */
import type { Server } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import { REPORTS_WRITTEN_BYTES } from '../lib/runtime.ts'

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

type ConnectionListener = (this: Server | SecureServer, socket: Socket) => void

/** The runtime's own listener for new connections, which then has to be called for each. */
export function takenFromRuntime(server: Server | SecureServer, event: string): ConnectionListener {
  const [listener] = server.listeners(event) as ConnectionListener[]
  server.removeAllListeners(event)
  return listener!
}

/**
 * Accepts no new connections; resolves when all are closed. Not by the HTTP server's own way alone, which cuts off
 * responses that are complete but not taken by their clients.
 */
export function stopListening(server: Server | SecureServer): Promise<void> {
  return new Promise(resolve => {
    if (!REPORTS_WRITTEN_BYTES) return void server.close(() => resolve())
    NetServer.prototype.close.call(server, () => {
      // Ends its timer, which would keep the server in memory.
      server.close(() => resolve())
    })
  })
}

/** Connections whose TLS handshake is not finished. They belong to no request, and would hold up a stop. */
export class Handshakes {
  readonly #sockets = new Map<string, Socket>()

  constructor(server: SecureServer) {
    server.on('connection', (socket: Socket) => {
      const peer = peerOf(socket)
      this.#sockets.set(peer, socket)
      socket.once('close', () => this.#sockets.delete(peer))
    })
    server.on('secureConnection', (socket: Socket) => this.#sockets.delete(peerOf(socket)))
  }

  endAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy()
  }
}

const peerOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`
