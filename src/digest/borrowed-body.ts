/** Bodies that are lent: their bytes lie in shared blocks, which are used again once nobody looks at them any more. */

export interface BorrowedBody {
  /** Whoever is the last to look at some of the bytes gives them back to the blocks, as soon as may be. */
  readonly bytes: AsyncIterable<Buffer>
  /** Nobody will look at any of them, and nobody gives back more. */
  end(): void
}

/** Takes something out of a body before its bytes are put where they are lent. */
export interface BodyFilter {
  /** What is left of a piece, as views of it. */
  take(piece: Buffer): readonly Buffer[]
  /** Ends the body, behind what was left of it until then. */
  readonly failure: Error | undefined
}

/** A body that can be lent to whoever asks, instead of being given for good to whoever just reads it. */
export interface BorrowableBody extends AsyncIterable<Buffer> {
  /** Undefined when it is not worth it. */
  lend(sieve?: BodyFilter): BorrowedBody | undefined
}

type Source = AsyncIterable<Buffer> | Iterable<Buffer>

const nothing = (): void => {}

export function borrow(body: Source): { readonly bytes: Source; end(): void } {
  const loan = 'lend' in body ? (body as BorrowableBody).lend() : undefined
  return loan ?? { bytes: body, end: nothing }
}

/** A body that something was done with on its way: what can be lent still can. */
export function passThrough(
  body: AsyncIterable<Buffer>,
  by: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
): AsyncIterable<Buffer> | BorrowableBody {
  if (!('lend' in body)) return by(body)
  const source = body as BorrowableBody
  return {
    [Symbol.asyncIterator]: () => by(source)[Symbol.asyncIterator](),
    lend() {
      const loan = source.lend()
      return loan && { bytes: by(loan.bytes), end: loan.end }
    },
  } satisfies BorrowableBody
}
