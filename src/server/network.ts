/** Configured addresses and certificates. */
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

/** Why clients will reject the certificate; undefined when it is valid. */
function invalidity({ cert }: Certificate, path: string, now: number): string | undefined {
  const { validFrom, validTo } = new X509Certificate(cert)
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  if (to <= now) return `${path} expired on ${dayOf(to)}: clients refuse it`
  return from > now ? `${path} is valid from ${dayOf(from)}: clients refuse it until then` : undefined
}

/** An invalid certificate only causes a warning, since some clients do not check it. */
export function certificateWarning({ tls }: Config, certificate: Certificate | undefined): string | undefined {
  if (tls === undefined || certificate === undefined) return undefined
  const now = Date.now()
  const soon = now + EXPIRES_SOON_DAYS * DAY_MS
  const problem = invalidity(certificate, tls.cert, now)
  if (problem !== undefined) return problem
  const end = Date.parse(new X509Certificate(certificate.cert).validTo)
  return end <= soon ? `${tls.cert} expires on ${dayOf(end)}: renew it, then send SIGHUP` : undefined
}

/** Refuses an invalid certificate, so that a running server keeps its old one. */
export async function renewedCertificate(config: Config): Promise<Certificate | undefined> {
  const certificate = await readCertificate(config)
  if (certificate === undefined) return undefined
  const problem = invalidity(certificate, config.tls!.cert, Date.now())
  if (problem !== undefined) throw new BadConfig(problem)
  return certificate
}

/** Refuses a certificate and key that do not match, so that a reload keeps the working pair. */
export async function readCertificate({ tls }: Config): Promise<Certificate | undefined> {
  if (tls === undefined) return undefined
  // An empty file would be accepted as no certificate, and every connection would fail.
  const cert = await readPem('--tls-cert', tls.cert, 'CERTIFICATE')
  const key = await readPem('--tls-key', tls.key, 'PRIVATE KEY')
  try {
    createSecureContext({ cert, key })
    // createSecureContext accepts a key of another type, with which every handshake would fail.
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error('key mismatch')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new BadConfig(
      `--tls-cert and --tls-key: ${tls.cert} and ${tls.key} are not a matching certificate and key (${why})`,
    )
  }
  return { cert, key }
}

async function readPem(flag: string, path: string, kind: string): Promise<string> {
  const text = await readText(realDisk, path).catch((error: NodeJS.ErrnoException) => {
    throw new BadConfig(`${flag}: ${path} cannot be read (${error.code})`)
  })
  if (!new RegExp(`-----BEGIN [A-Z ]*${kind}-----`).test(text)) {
    throw new BadConfig(`${flag}: ${path} has no ${kind.toLowerCase()} in PEM format`)
  }
  return text
}

/**
 * Makes sure that no other process listens there, and finds a port for 0. The workers share it: Node distributes
 * connections from one socket, Bun shares the port in the kernel, where another program's socket would go unnoticed.
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
