/** Bodies that are lent: their bytes lie in shared blocks, which are used again once nobody looks at them any more. */

export interface Loan {
  /** Whoever is the last to look at some of the bytes gives them back to the blocks, as soon as may be. */
  readonly bytes: AsyncIterable<Buffer>
  /** Nobody will look at any of them, and nobody gives back more. */
  end(): void
}

/** A body that can be lent to whoever asks, instead of being given for good to whoever just reads it. */
export interface Lending extends AsyncIterable<Buffer> {
  lend(): Loan
}

type Source = AsyncIterable<Buffer> | Iterable<Buffer>

const nothing = (): void => {}

export function lent(body: Source): { readonly bytes: Source; end(): void } {
  return 'lend' in body ? (body as Lending).lend() : { bytes: body, end: nothing }
}

/** A body that something was done with on its way: what can be lent still can. */
export function passed(
  body: AsyncIterable<Buffer>,
  by: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
): AsyncIterable<Buffer> | Lending {
  if (!('lend' in body)) return by(body)
  const source = body as Lending
  return {
    [Symbol.asyncIterator]: () => by(source)[Symbol.asyncIterator](),
    lend() {
      const { bytes, end } = source.lend()
      return { bytes: by(bytes), end }
    },
  } satisfies Lending
}
