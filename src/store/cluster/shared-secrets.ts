/**
 * Secrets that all gateways of a cluster share, sealed under the cluster key in the metadata: the keyring and the root
 * account's key. A gateway without the right cluster key cannot open them and does not start.
 */
import type { ClusterKey } from '../../crypto/cluster-key.ts'
import { key } from '../../lib/keys.ts'
import type { Meta, Stamp, Write } from '../../meta/meta.ts'

/** A record has at most 100,000 bytes and a commit a million. */
const PIECE_BYTES = 90_000
const PIECES_MAX = 10

const piece = (name: string, number: number): Buffer => key('x', 'sealed', name, number)

interface SealedRecord {
  readonly value: Buffer
  /** Of its first piece, which every change rewrites. */
  readonly stamp: Stamp
}

/** One sealed secret, in as many records as it needs. */
export class SharedSecret {
  readonly #meta: Meta
  readonly #clusterKey: ClusterKey
  readonly #name: string
  readonly #boundTo: string

  constructor(meta: Meta, clusterKey: ClusterKey, cluster: string, name: string) {
    this.#meta = meta
    this.#clusterKey = clusterKey
    this.#name = name
    this.#boundTo = `${cluster}/${name}`
  }

  async read(): Promise<{ readonly secret: Buffer; readonly stamp: Stamp } | undefined> {
    const sealed = await this.#sealed()
    if (sealed === undefined) return undefined
    return { secret: await this.#clusterKey.open(sealed.value, this.#boundTo), stamp: sealed.stamp }
  }

  /** Without opening it, which may ask another server. */
  async stamp(): Promise<Stamp | undefined> {
    return (await this.#sealed())?.stamp
  }

  /** False if it has changed since `stamp`; undefined: it must not exist. */
  async write(secret: Buffer, stamp: Stamp | undefined): Promise<boolean> {
    const sealed = await this.#clusterKey.seal(secret, this.#boundTo)
    const count = Math.ceil(sealed.length / PIECE_BYTES)
    if (count > PIECES_MAX) throw new RangeError(`a shared secret has at most ${PIECES_MAX * PIECE_BYTES} bytes`)
    const writes: Write[] = Array.from({ length: PIECES_MAX }, (_, i) => ({
      key: piece(this.#name, i),
      value: i < count ? sealed.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES) : undefined,
    }))
    return this.#meta.commit({ checks: [{ key: piece(this.#name, 0), stamp }], writes })
  }

  /** One scan is one point in time, so the pieces belong together. */
  async #sealed(): Promise<SealedRecord | undefined> {
    const range = { start: piece(this.#name, 0), end: piece(this.#name, PIECES_MAX) }
    const pieces = await this.#meta.scan(range, PIECES_MAX)
    const [first] = pieces
    return first && { value: Buffer.concat(pieces.map(({ value }) => value)), stamp: first.stamp }
  }
}
