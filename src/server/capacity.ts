/** Facts about the machine and the server: free space, version, uptime, certificate. */
import { X509Certificate } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerFacts } from '../admin/route.ts'
import type { BlobCapacity, Blobs } from '../blobs/blobs.ts'
import type { Certificate } from '../http/listen.ts'
import { RUNTIME } from '../lib/runtime.ts'
import { labelled, type Sample } from '../telemetry/families.ts'
import { VERSION } from '../version.ts'
import { isBlobsAddress } from './blob-driver.ts'
import type { Config } from './config.ts'

/** Milliseconds; undefined without a certificate and for one that cannot be parsed. */
function expiryOf(certificate: Certificate | undefined): number | undefined {
  if (certificate === undefined) return undefined
  try {
    const end = Date.parse(new X509Certificate(certificate.cert).validTo)
    return Number.isNaN(end) ? undefined : end
  } catch {
    return undefined
  }
}

export class Capacity {
  readonly #folders: readonly { readonly name: string; readonly path: string }[]
  /** Present where blobs are in an engine that reports its space. */
  readonly #engine: (() => Promise<BlobCapacity>) | undefined
  readonly #startedAt = Math.round(performance.timeOrigin)
  /** The one in use; replaced when it is renewed. */
  certificate: Certificate | undefined
  readonly #isServing: () => boolean

  constructor(
    config: Pick<Config, 'data' | 'blobs'>,
    blobs: Pick<Blobs, 'capacity'>,
    certificate: Certificate | undefined,
    isServing: () => boolean,
  ) {
    const { data, blobs: place = join(data, 'blobs') } = config
    this.#folders = [{ name: 'data', path: data }, ...(isBlobsAddress(place) ? [] : [{ name: 'blobs', path: place }])]
    this.#engine = blobs.capacity?.bind(blobs)
    this.certificate = certificate
    this.#isServing = isServing
  }

  async facts(): Promise<ServerFacts> {
    const expiry = expiryOf(this.certificate)
    return {
      version: VERSION,
      runtime: RUNTIME,
      startedAt: new Date(this.#startedAt).toISOString(),
      uptimeSeconds: Math.max(0, Math.round((Date.now() - this.#startedAt) / 1000)),
      ready: this.#isServing(),
      ...(expiry === undefined ? {} : { certificateExpiresAt: new Date(expiry).toISOString() }),
      filesystems: await this.#filesystems(),
    }
  }

  /** A filesystem that fails is left out; the others are still reported. */
  async #filesystems(): Promise<ServerFacts['filesystems']> {
    const found = await Promise.all(
      this.#folders.map(async ({ name, path }) => {
        try {
          const { bsize, blocks, bavail, files, ffree } = await statfs(path)
          return [{ folder: name, totalBytes: blocks * bsize, freeBytes: bavail * bsize, files, freeFiles: ffree }]
        } catch {
          return []
        }
      }),
    )
    const engine = await this.#engine?.().catch(() => undefined)
    return [...found.flat(), ...(engine === undefined ? [] : [{ folder: 'blobs', ...engine, files: 0, freeFiles: 0 }])]
  }

  async samples(): Promise<Sample[]> {
    const expiry = expiryOf(this.certificate)
    const filesystems = await this.#filesystems()
    return [
      ['holdfast_info', labelled({ version: VERSION, runtime: RUNTIME }), 1],
      ['holdfast_ready', '', this.#isServing() ? 1 : 0],
      ...(expiry === undefined ? [] : [['holdfast_certificate_expiry_timestamp_seconds', '', expiry / 1000] as const]),
      ...filesystems.flatMap(({ folder, totalBytes, freeBytes, files, freeFiles }): Sample[] => {
        const labels = labelled({ folder })
        return [
          ['holdfast_filesystem_size_bytes', labels, totalBytes],
          ['holdfast_filesystem_free_bytes', labels, freeBytes],
          // Some filesystems allocate inodes on demand and report none, and an engine has none.
          ...(files === 0
            ? []
            : ([
                ['holdfast_filesystem_files', labels, files],
                ['holdfast_filesystem_free_files', labels, freeFiles],
              ] as const)),
        ]
      }),
    ]
  }
}
