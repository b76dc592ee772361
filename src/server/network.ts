/** Addresses and certificates, as the configuration names them. */
import { type AddressInfo, createServer } from 'node:net'
import { createSecureContext } from 'node:tls'
import { realDisk } from '../lib/disk.ts'
import type { Certificate } from '../lib/listening.ts'
import { readText } from './accounts.ts'
import type { Config, HostAndPort } from './config.ts'

/** Refuses a pair that does not fit: whoever reads it again has a working one to keep. */
export async function readCertificate({ tls }: Config): Promise<Certificate | undefined> {
  if (tls === undefined) return undefined
  const certificate = { cert: await readText(realDisk, tls.cert), key: await readText(realDisk, tls.key) }
  createSecureContext(certificate)
  return certificate
}

/**
 * Makes sure that nobody else listens there, and finds a port for 0. The workers listen on it together: Node hands
 * connections out from one socket, Bun shares the port in the kernel, where a stranger's socket would go unnoticed.
 */
export function findPort({ host, port }: HostAndPort): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port, host, exclusive: true }, () => {
      const found = server.address() as AddressInfo
      server.close(() => resolve(found))
    })
  })
}
