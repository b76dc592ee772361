/** Addresses and certificates, as the configuration names them. */
import { type AddressInfo, createServer } from 'node:net'
import { createSecureContext } from 'node:tls'
import { realDisk } from '../lib/disk.ts'
import { type Certificate, whereItFailed } from '../lib/listening.ts'
import { readText } from './accounts.ts'
import { BadConfig } from './bad-config.ts'
import type { Config, HostAndPort } from './config.ts'

/** Refuses a pair that does not fit: whoever reads it again has a working one to keep. */
export async function readCertificate({ tls }: Config): Promise<Certificate | undefined> {
  if (tls === undefined) return undefined
  // An empty one would be taken for none, and every connection would fail.
  const cert = await readPem('--tls-cert', tls.cert, 'CERTIFICATE')
  const key = await readPem('--tls-key', tls.key, 'PRIVATE KEY')
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new BadConfig(`--tls-cert and --tls-key: ${tls.cert} and ${tls.key} are no certificate and its key (${why})`)
  }
  return { cert, key }
}

async function readPem(flag: string, path: string, kind: string): Promise<string> {
  const text = await readText(realDisk, path).catch((error: NodeJS.ErrnoException) => {
    throw new BadConfig(`${flag}: ${path} cannot be read (${error.code})`)
  })
  if (!new RegExp(`-----BEGIN [A-Z ]*${kind}-----`).test(text)) {
    throw new BadConfig(`${flag}: ${path} holds no ${kind.toLowerCase()} in PEM form`)
  }
  return text
}

/**
 * Makes sure that nobody else listens there, and finds a port for 0. The workers listen on it together: Node hands
 * connections out from one socket, Bun shares the port in the kernel, where a stranger's socket would go unnoticed.
 */
export function findPort({ host, port }: HostAndPort): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', error => reject(whereItFailed(error, host, port)))
    server.listen({ port, host, exclusive: true }, () => {
      const found = server.address() as AddressInfo
      server.close(() => resolve(found))
    })
  })
}
