/** Addresses and certificates, as the configuration names them. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import { createSecureContext } from 'node:tls'
import { type Certificate, listenFailure } from '../http/listen.ts'
import { realDisk } from '../lib/disk.ts'
import { readText } from './accounts.ts'
import { BadConfig } from './bad-config.ts'
import type { Config } from './config.ts'
import type { HostAndPort } from './root-key.ts'

const DAY_MS = 86_400_000
const EXPIRES_SOON_DAYS = 14

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** Why clients will reject it; undefined for one that is valid. */
function invalidity({ cert }: Certificate, path: string, now: number): string | undefined {
  const { validFrom, validTo } = new X509Certificate(cert)
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  if (to <= now) return `${path} expired on ${dayOf(to)}: clients refuse it`
  return from > now ? `${path} is valid from ${dayOf(from)}: clients refuse it until then` : undefined
}

/** Clients that do not look may be served with any: a start with an invalid one goes on. */
export function certificateWarning({ tls }: Config, certificate: Certificate | undefined): string | undefined {
  if (tls === undefined || certificate === undefined) return undefined
  const now = Date.now()
  const soon = now + EXPIRES_SOON_DAYS * DAY_MS
  const problem = invalidity(certificate, tls.cert, now)
  if (problem !== undefined) return problem
  const end = Date.parse(new X509Certificate(certificate.cert).validTo)
  return end <= soon ? `${tls.cert} expires on ${dayOf(end)}: renew it, then send SIGHUP` : undefined
}

/** For a server that has one: an invalid one does not take its place. */
export async function renewedCertificate(config: Config): Promise<Certificate | undefined> {
  const certificate = await readCertificate(config)
  if (certificate === undefined) return undefined
  const problem = invalidity(certificate, config.tls!.cert, Date.now())
  if (problem !== undefined) throw new BadConfig(problem)
  return certificate
}

/** Refuses a pair that does not fit: whoever reads it again has a working one to keep. */
export async function readCertificate({ tls }: Config): Promise<Certificate | undefined> {
  if (tls === undefined) return undefined
  // An empty one would be taken for none, and every connection would fail.
  const cert = await readPem('--tls-cert', tls.cert, 'CERTIFICATE')
  const key = await readPem('--tls-key', tls.key, 'PRIVATE KEY')
  try {
    createSecureContext({ cert, key })
    // A key of another kind than the certificate's goes unnoticed above, and every handshake would fail.
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error('key mismatch')
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
    server.once('error', error => reject(listenFailure(error, host, port)))
    server.listen({ port, host, exclusive: true }, () => {
      const found = server.address() as AddressInfo
      server.close(() => resolve(found))
    })
  })
}
