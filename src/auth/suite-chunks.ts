/** Encodes chunked bodies as a client does, for tests. */
import type { ChunkRule } from './chunked-body.ts'
import type { Scheme } from './signing.ts'
import { SigningKey } from './signing.ts'
import { chunkSignature, clientKey, clientScope, TIMESTAMP, trailerSignature } from './suite-signer.ts'

const SEED = 'f'.repeat(64)

export interface SentChunks {
  readonly scheme: Scheme
  readonly signed: boolean
  readonly data: readonly Buffer[]
  /** Lines without CRLF; undefined for a body without trailers. */
  readonly trailers?: readonly string[]
}

export function ruleFor(sent: SentChunks, change: Partial<ChunkRule> = {}): ChunkRule {
  const { scheme } = sent
  return {
    kind: 'chunks',
    chain: sent.signed
      ? { scheme, key: new SigningKey(clientKey(scheme)), scope: clientScope(scheme), timestamp: TIMESTAMP, seed: SEED }
      : undefined,
    declared: sent.trailers && new Set(sent.trailers.map(line => line.split(':')[0]!)),
    trailers: new Map(),
    decodedLength: sent.data.reduce((sum, piece) => sum + piece.length, 0),
    ...change,
  }
}

/** The bytes on the wire; empty data pieces are left out, since an empty chunk is the end. */
export function wire(sent: SentChunks, seed = SEED): Buffer {
  const out: (Buffer | string)[] = []
  let previous = seed
  for (const data of [...sent.data.filter(piece => piece.length > 0), Buffer.alloc(0)]) {
    if (sent.signed) previous = chunkSignature(sent.scheme, previous, data)
    out.push(`${data.length.toString(16)}${sent.signed ? `;chunk-signature=${previous}` : ''}\r\n`)
    if (data.length > 0) out.push(data, '\r\n')
  }
  for (const line of sent.trailers ?? []) out.push(`${line}\r\n`)
  if (sent.trailers !== undefined && sent.signed) {
    const lines = sent.trailers.map(line => `${line}\n`).join('')
    out.push(`${sent.scheme.headerPrefix}trailer-signature:${trailerSignature(sent.scheme, previous, lines)}\r\n`)
  }
  out.push('\r\n')
  return Buffer.concat(out.map(piece => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}

/** A stream of these pieces. */
export async function* streamOf(...pieces: readonly Buffer[]): AsyncGenerator<Buffer, void> {
  yield* pieces
}

export async function collect(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const out: Buffer[] = []
  for await (const piece of body) out.push(piece)
  return Buffer.concat(out)
}
