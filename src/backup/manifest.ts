/** What a run says about itself: JSON, and behind it the SHA-256 of all of that. */
import { createHash } from 'node:crypto'
import type { FormatStamp } from '../store/commit/format-stamp.ts'

interface RowFacts {
  readonly bytes: number
  readonly sha256: string
  /** Entries. */
  readonly count: number
}

export interface Manifest {
  readonly format: 1
  readonly run: string
  /** When the snapshot was taken, by the clock of the server. */
  readonly takenAt: string
  readonly endedAt: string
  /** The stamp of the store's format. Versions before 0.2.0 wrote none. */
  readonly store?: FormatStamp
  /** The keyring that the store belongs to. */
  readonly keyring: string
  /** Of the keyring's file, when the run has a copy of it. */
  readonly keyringFile?: { readonly bytes: number; readonly sha256: string }
  readonly records: RowFacts
  readonly index: RowFacts
  readonly blobs: {
    readonly count: number
    readonly bytes: number
    /** Of these, what this run had to copy. */
    readonly copied: number
    readonly copiedBytes: number
  }
  /** Blobs that the server could not read: what they are needed for is not in this run. */
  readonly damaged: readonly { readonly id: string; readonly message: string }[]
  /** Volumes that were there at the end: what stands in others was left by a run that broke off. */
  readonly volumes: readonly string[]
}

const SUM = /^sha256 ([0-9a-f]{64})\n$/
const SUM_BYTES = 'sha256 \n'.length + 64

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

export function writtenManifest(manifest: Manifest): Buffer {
  const body = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`)
  return Buffer.concat([body, Buffer.from(`sha256 ${sha256(body)}\n`)])
}

/** Undefined when it is not what was written. */
export function readManifest(bytes: Buffer): Manifest | undefined {
  const body = bytes.subarray(0, Math.max(0, bytes.length - SUM_BYTES))
  const said = SUM.exec(bytes.toString('latin1', body.length))?.[1]
  if (said === undefined || said !== sha256(body)) return undefined
  const manifest = JSON.parse(body.toString('utf8')) as { readonly format: number }
  if (manifest.format !== 1) throw new Error(`this program does not know format ${manifest.format} of backups`)
  return manifest as Manifest
}
