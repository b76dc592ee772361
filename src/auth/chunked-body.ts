/**
 * G4. Chunked bodies: `size[;chunk-signature=…] CRLF data CRLF`, up to a chunk of size zero, then optional trailers.
 * Data is passed on before its signature is checked, so a consumer must commit nothing before the end of the stream;
 * a bad signature ends it with a fault.
 */

import { systemClock } from '../lib/clock.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { abandon, type ByteReader, type PieceStream, readerOf, StagedStream } from '../lib/piece-stream.ts'
import { Fault } from '../model/faults.ts'
import { ChunkHashes } from './chunk-hashes.ts'
import { ChunkSignatures, type SignatureChain } from './chunk-signatures.ts'
import { parseTrailers, TRAILER_BYTES_MAX } from './trailers.ts'

/** How a chunked body must be checked. */
export interface ChunkRule {
  readonly kind: 'chunks'
  /** Undefined for unsigned chunks. */
  readonly chain: SignatureChain | undefined
  /** Lower-case names of the required trailers, each exactly once; undefined when trailers are not allowed. */
  readonly declared: ReadonlySet<string> | undefined
  /** Filled with the trailers once the body has been read to its end. */
  readonly trailers: Map<string, string>
  readonly decodedLength: number
}

const LINE_BYTES_MAX = 1024
const LF = 0x0a

const UNSIGNED_LINE = /^([0-9a-fA-F]{1,16})$/
const SIGNED_LINE = /^([0-9a-fA-F]{1,16});chunk-signature=(.*)$/

/** Chunks that are to be hashed with others are hashed without them when a client sends nothing for this long. */
const PAUSE_MS = 100

export function decodeChunks(body: AsyncIterable<Buffer>, rule: ChunkRule, hashes = new ChunkHashes()): PieceStream {
  return new StagedStream(() => new ChunkReader(readerOf(body), new ChunkDecoder(rule, hashes)))
}

class ChunkReader implements ByteReader {
  readonly #body: ByteReader
  readonly #decoder: ChunkDecoder
  /** The data of the last piece, and how much of it has been read. */
  #data: readonly Buffer[] = []
  #taken = 0
  #isOver = false
  #isBodyOver = false

  constructor(body: ByteReader, decoder: ChunkDecoder) {
    this.#body = body
    this.#decoder = decoder
  }

  read(): MaybePromise<Buffer | undefined> {
    if (this.#isOver) return undefined
    const data = this.#data[this.#taken]
    if (data === undefined) return this.#next()
    this.#taken++
    // Most chunks are hashed at once.
    try {
      const hashing = this.#decoder.signatures?.take(data)
      return hashing === undefined ? data : hashing.then(() => data).catch(error => this.#fail(error))
    } catch (error) {
      return this.#fail(error)
    }
  }

  /** Decodes further pieces of the body until one has data. */
  async #next(): Promise<Buffer | undefined> {
    const decoder = this.#decoder
    const { signatures } = decoder
    try {
      do {
        if (decoder.failure !== undefined) throw decoder.failure
        const settling = signatures?.settle()
        if (settling !== undefined) await settling
        const piece = await this.#nextPiece()
        if (piece === undefined) return await this.#end()
        this.#data = decoder.take(piece)
        this.#taken = 0
      } while (this.#data.length === 0)
    } catch (error) {
      return this.#fail(error)
    }
    return this.read()
  }

  async #nextPiece(): Promise<Buffer | undefined> {
    try {
      const { signatures } = this.#decoder
      const piece = await (signatures?.isWaiting === true ? orBadSignature(this.#body, signatures) : this.#body.read())
      this.#isBodyOver = piece === undefined
      return piece
    } catch (error) {
      this.#isBodyOver = true
      throw error
    }
  }

  async #end(): Promise<undefined> {
    const { signatures } = this.#decoder
    await signatures?.finish()
    this.#decoder.end()
    signatures?.end()
    await this.cancel()
  }

  async #fail(error: unknown): Promise<never> {
    try {
      // A bad signature of earlier data takes precedence over the malformed chunk after it.
      if (error === this.#decoder.failure) await this.#decoder.signatures?.finish()
      throw error
    } finally {
      await this.cancel()
    }
  }

  async cancel(): Promise<void> {
    if (this.#isOver) return
    this.#isOver = true
    this.#decoder.signatures?.abandon()
    if (!this.#isBodyOver) await abandon(this.#body)
  }
}

/** While the body pauses, the signatures of all complete chunks are checked, and a wrong one ends it. */
function orBadSignature(body: ByteReader, signatures: ChunkSignatures): MaybePromise<Buffer | undefined> {
  const reading = body.read()
  if (!(reading instanceof Promise)) return reading
  return new Promise((resolve, reject) => {
    const refuse = (fault: unknown): void => {
      reject(fault)
      // The body is given up while it is being read; nobody waits for that.
      void abandon(body)
    }
    const stopWaiting = systemClock.after(PAUSE_MS, () => {
      try {
        signatures.finish()?.catch(refuse)
      } catch (fault) {
        refuse(fault)
      }
    })
    reading.then(resolve, reject).finally(stopWaiting)
  })
}

type State = 'line' | 'data' | 'data-end' | 'tail'

/** Separates the data from the chunk headers around it. */
class ChunkDecoder {
  readonly signatures: ChunkSignatures | undefined
  /** The first error; everything after it is ignored. */
  failure: Fault | undefined
  readonly #rule: ChunkRule
  #state: State = 'line'
  /** The bytes received so far of a chunk header, of the CRLF after data, or of the trailers. */
  #text = ''
  #chunkLeft = 0
  #decoded = 0

  constructor(rule: ChunkRule, hashes: ChunkHashes) {
    this.#rule = rule
    this.signatures = rule.chain === undefined ? undefined : new ChunkSignatures(rule.chain, hashes)
  }

  /** The data in this piece, as views of it, up to the first error. */
  take(piece: Buffer): Buffer[] {
    const data: Buffer[] = []
    if (this.failure !== undefined) return data
    try {
      this.#take(piece, data)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.failure = error
    }
    return data
  }

  #take(piece: Buffer, data: Buffer[]): void {
    let at = 0
    while (at < piece.length) {
      if (this.#state === 'data') {
        const view = piece.subarray(at, at + this.#chunkLeft)
        at += view.length
        this.#takeData(view)
        data.push(view)
      } else if (this.#state === 'line') at = this.#takeLine(piece, at)
      else if (this.#state === 'data-end') at = this.#takeDataEnd(piece, at)
      else at = this.#takeTail(piece, at)
    }
  }

  end(): void {
    if (this.#state !== 'tail') throw this.#incomplete()
    const { declared, chain, trailers } = this.#rule
    if (declared === undefined) {
      if (this.#text !== '\r\n') throw this.#incomplete()
      return
    }
    const signatureName = chain === undefined ? undefined : `${chain.scheme.headerPrefix}trailer-signature`
    const found = parseTrailers(this.#text, { declared, signatureName })
    if (found === undefined) throw this.#incomplete()
    if (found.signature !== undefined) this.signatures?.checkTrailers(found.signedText, found.signature)
    for (const [name, value] of found.values) trailers.set(name, value)
  }

  #incomplete(): Fault {
    return new Fault('IncompleteBody', {
      NumberBytesExpected: this.#rule.decodedLength,
      NumberBytesProvided: this.#decoded,
    })
  }

  #takeData(view: Buffer): void {
    this.#decoded += view.length
    this.#chunkLeft -= view.length
    if (this.#chunkLeft === 0) this.#state = 'data-end'
  }

  #takeLine(piece: Buffer, at: number): number {
    const lineEnd = piece.indexOf(LF, at)
    const end = lineEnd < 0 ? piece.length : lineEnd
    if (this.#text.length + end - at > LINE_BYTES_MAX) throw this.#incomplete()
    this.#text += piece.toString('latin1', at, end)
    if (lineEnd < 0) return end
    if (!this.#text.endsWith('\r')) throw this.#incomplete()
    this.#beginChunk(this.#text.slice(0, -1))
    this.#text = ''
    return lineEnd + 1
  }

  #beginChunk(line: string): void {
    const found = (this.signatures === undefined ? UNSIGNED_LINE : SIGNED_LINE).exec(line)
    if (found === null) throw this.#incomplete()
    const size = Number.parseInt(found[1]!, 16)
    // A chunk beyond the declared length is refused before it is read.
    if (size > this.#rule.decodedLength - this.#decoded) throw this.#incomplete()
    this.signatures?.begin(found[2]!, size, this.#rule.decodedLength - this.#decoded)
    this.#chunkLeft = size
    this.#state = size === 0 ? 'tail' : 'data'
    if (size > 0) return
    if (this.#decoded !== this.#rule.decodedLength) throw this.#incomplete()
  }

  #takeDataEnd(piece: Buffer, at: number): number {
    const end = Math.min(piece.length, at + 2 - this.#text.length)
    this.#text += piece.toString('latin1', at, end)
    if (!'\r\n'.startsWith(this.#text)) throw this.#incomplete()
    if (this.#text.length < 2) return end
    this.signatures?.whole()
    this.#text = ''
    this.#state = 'line'
    return end
  }

  #takeTail(piece: Buffer, at: number): number {
    const isPlain = this.#rule.declared === undefined
    if (this.#text.length + piece.length - at > (isPlain ? 2 : TRAILER_BYTES_MAX)) {
      throw isPlain ? this.#incomplete() : new Fault('MalformedTrailerError', { reason: 'The trailers are too long.' })
    }
    this.#text += piece.toString('latin1', at)
    return piece.length
  }
}
