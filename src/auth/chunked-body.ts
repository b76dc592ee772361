/**
 * Bodies in chunks: `size[;chunk-signature=…] CRLF data CRLF`, up to a chunk of size zero, then perhaps trailers. Data
 * is handed on as it comes, before its signature has been seen: whoever reads must commit nothing until the end, and
 * learns from a fault on the way that there is nothing to commit.
 */
import { createHash, type Hash } from 'node:crypto'
import { sharedBlocks } from '../lib/digest-threads.ts'
import { Fault } from '../model/faults.ts'
import type { ChunkRule, SignatureChain } from './payload-rule.ts'
import { EMPTY_SHA256, hmac, sameSignature, sha256Hex } from './signing.ts'
import { parseTrailers, TRAILER_BYTES_MAX } from './trailers.ts'

const LINE_BYTES_MAX = 1024
const LF = 0x0a

const UNSIGNED_LINE = /^([0-9a-fA-F]{1,16})$/
const SIGNED_LINE = /^([0-9a-fA-F]{1,16});chunk-signature=(.*)$/

export async function* decodeChunks(body: AsyncIterable<Buffer>, rule: ChunkRule): AsyncGenerator<Buffer, void> {
  const decoder = new ChunkDecoder(rule)
  for await (const piece of body) {
    const pieces = decoder.take(piece)
    let bytes = 0
    for (const data of pieces) bytes += data.length
    sharedBlocks.giveBack(piece, piece.length - bytes)
    for (const data of pieces) yield data
  }
  decoder.end()
}

/** The signatures of one body, each made over the one before. */
class Signatures {
  readonly #chain: SignatureChain
  #previous: string
  #claimed = ''
  #hash: Hash | undefined

  constructor(chain: SignatureChain) {
    this.#chain = chain
    this.#previous = chain.seed
  }

  begin(claimed: string): void {
    this.#claimed = claimed
    this.#hash = undefined
  }

  update(data: Buffer): void {
    this.#hash ??= createHash('sha256')
    this.#hash.update(data)
  }

  checkChunk(): void {
    const digest = this.#hash === undefined ? EMPTY_SHA256 : this.#hash.digest('hex')
    this.#check(this.#chain.scheme.chunkAlgorithm, `${EMPTY_SHA256}\n${digest}`, this.#claimed)
  }

  checkTrailers(signedText: string, claimed: string): void {
    this.#check(this.#chain.scheme.trailerAlgorithm, sha256Hex(signedText), claimed)
  }

  #check(algorithm: string, digests: string, claimed: string): void {
    const { timestamp, scope, key } = this.#chain
    const text = `${algorithm}\n${timestamp}\n${scope}\n${this.#previous}\n${digests}`
    if (!sameSignature(hmac(key, text), claimed)) {
      throw new Fault('SignatureDoesNotMatch', { StringToSign: text, SignatureProvided: claimed })
    }
    this.#previous = claimed
  }
}

type State = 'line' | 'data' | 'data-end' | 'tail'

class ChunkDecoder {
  readonly #rule: ChunkRule
  readonly #signatures: Signatures | undefined
  #state: State = 'line'
  /** The part of a line, of the end of a chunk or of the tail that has come so far. */
  #text = ''
  #chunkLeft = 0
  #decoded = 0

  constructor(rule: ChunkRule) {
    this.#rule = rule
    this.#signatures = rule.chain === undefined ? undefined : new Signatures(rule.chain)
  }

  /** The data in this piece, as views of it. */
  take(piece: Buffer): Buffer[] {
    const data: Buffer[] = []
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
    return data
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
    if (found.signature !== undefined) this.#signatures?.checkTrailers(found.signedText, found.signature)
    for (const [name, value] of found.values) trailers.set(name, value)
  }

  #incomplete(): Fault {
    return new Fault('IncompleteBody', {
      NumberBytesExpected: this.#rule.decodedLength,
      NumberBytesProvided: this.#decoded,
    })
  }

  #takeData(view: Buffer): void {
    this.#signatures?.update(view)
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
    const found = (this.#signatures === undefined ? UNSIGNED_LINE : SIGNED_LINE).exec(line)
    if (found === null) throw this.#incomplete()
    const size = Number.parseInt(found[1]!, 16)
    // More than was announced is refused before it is read.
    if (size > this.#rule.decodedLength - this.#decoded) throw this.#incomplete()
    this.#signatures?.begin(found[2]!)
    this.#chunkLeft = size
    this.#state = size === 0 ? 'tail' : 'data'
    if (size > 0) return
    this.#signatures?.checkChunk()
    if (this.#decoded !== this.#rule.decodedLength) throw this.#incomplete()
  }

  #takeDataEnd(piece: Buffer, at: number): number {
    const end = Math.min(piece.length, at + 2 - this.#text.length)
    this.#text += piece.toString('latin1', at, end)
    if (!'\r\n'.startsWith(this.#text)) throw this.#incomplete()
    if (this.#text.length < 2) return end
    this.#signatures?.checkChunk()
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
