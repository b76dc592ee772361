import { checkedBody } from '../auth/payload.ts'
import type { PayloadRule } from '../auth/payload-rule.ts'
import { EMPTY_SHA256 } from '../auth/signing.ts'
import type { Slot } from '../http/admission.ts'
import type { IncomingBody } from '../operations/context.ts'
import type { DecodedRequest } from './decoded-request.ts'
import type { Dialect } from './dialect.ts'

/** The neutral name of a trailer or header of the dialect. */
const neutral = (dialect: Dialect, name: string): string =>
  name.startsWith(dialect.prefix) ? `:${name.slice(dialect.prefix.length)}` : name

/** Bytes that the client announced: the decoded length of chunks, else the length of the body itself. */
function announcedLength(payload: PayloadRule, view: DecodedRequest): number | undefined {
  if (payload.kind === 'chunks') return payload.decodedLength
  return view.byteCount('content-length')
}

function mayDiffer(payload: PayloadRule, length: number | undefined, view: DecodedRequest): boolean {
  if (payload.kind !== 'sha256') return payload.kind === 'chunks'
  return payload.hex !== EMPTY_SHA256 || (length ?? 0) > 0 || view.header('transfer-encoding') !== undefined
}

export function incomingBody(
  incoming: { readonly body: AsyncIterable<Buffer>; readonly slot: Slot },
  payload: PayloadRule,
  view: DecodedRequest,
  dialect: Dialect,
): IncomingBody {
  return new CheckedBody(incoming, payload, view, dialect)
}

/** A class, since most requests have no body: what nobody asks for is not made. */
class CheckedBody implements IncomingBody {
  readonly length: number | undefined
  readonly mayDiffer: boolean
  readonly #body: AsyncIterable<Buffer>
  readonly #slot: Slot
  readonly #payload: PayloadRule
  readonly #dialect: Dialect
  readonly #declared: string | undefined
  #stream: AsyncIterable<Buffer> | undefined

  constructor(
    { body, slot }: { readonly body: AsyncIterable<Buffer>; readonly slot: Slot },
    payload: PayloadRule,
    view: DecodedRequest,
    dialect: Dialect,
  ) {
    this.#body = body
    this.#slot = slot
    this.#payload = payload
    this.#dialect = dialect
    this.#declared = view.header(':trailer')
    this.length = announcedLength(payload, view)
    this.mayDiffer = mayDiffer(payload, this.length, view)
  }

  get stream(): AsyncIterable<Buffer> {
    this.#stream ??= checkedBody(this.#body, this.#payload)
    return this.#stream
  }

  reserveMemory(bytes: number): void {
    this.#slot.reserveMemory(bytes)
  }

  get hashSigned(): boolean {
    return this.#payload.kind === 'sha256'
  }

  get announced(): readonly string[] {
    const names = this.#declared?.split(',') ?? []
    return names.map(name => neutral(this.#dialect, name.trim().toLowerCase()))
  }

  trailers(): ReadonlyMap<string, string> {
    const payload = this.#payload
    if (payload.kind !== 'chunks') return new Map()
    return new Map([...payload.trailers].map(([name, value]) => [neutral(this.#dialect, name), value]))
  }
}
