/** The manifest of a run: JSON, followed by its SHA-256. */
import { createHash } from 'node:crypto'
import type { FormatStamp } from '../store/commit/format-stamp.ts'

interface StreamSummary {
  readonly bytes: number
  readonly sha256: string
  /** Number of entries. */
  readonly count: number
}

export interface Manifest {
  readonly format: 1
  readonly run: string
  /** Time of the snapshot by the server's clock. */
  readonly takenAt: string
  readonly endedAt: string
  /** The store's format stamp. Versions before 0.2.0 wrote none. */
  readonly store?: FormatStamp
  /** The id of the store's keyring. */
  readonly keyring: string
  /** The copy of the keyring file, if the run has one. */
  readonly keyringFile?: { readonly bytes: number; readonly sha256: string }
  readonly records: StreamSummary
  readonly index: StreamSummary
  readonly blobs: {
    readonly count: number
    readonly bytes: number
    /** Blobs that this run had to copy. */
    readonly copied: number
    readonly copiedBytes: number
  }
  /** Blobs the server could not read; objects that need them are not restorable from this run. */
  readonly damaged: readonly { readonly id: string; readonly message: string }[]
  /** Volumes present at the end; blobs in other volumes were left by an interrupted run. */
  readonly volumes: readonly string[]
}

const SUM = /^sha256 ([0-9a-f]{64})\n$/
const SUM_BYTES = 'sha256 \n'.length + 64

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

export function encodeManifest(manifest: Manifest): Buffer {
  const body = Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`)
  return Buffer.concat([body, Buffer.from(`sha256 ${sha256(body)}\n`)])
}

/** Undefined when it does not match its checksum. */
export function readManifest(bytes: Buffer): Manifest | undefined {
  const body = bytes.subarray(0, Math.max(0, bytes.length - SUM_BYTES))
  const expected = SUM.exec(bytes.toString('latin1', body.length))?.[1]
  if (expected === undefined || expected !== sha256(body)) return undefined
  const manifest = JSON.parse(body.toString('utf8')) as { readonly format: number }
  if (manifest.format !== 1) throw new Error(`backup format ${manifest.format} is not supported by this version`)
  return manifest as Manifest
}
