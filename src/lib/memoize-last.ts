/**
 * Caches the result for the last argument, for runs of equal arguments. The result must depend on the argument alone.
 */
export function memoizeLast<K, V>(compute: (of: K) => V): (of: K) => V {
  let last: { readonly of: K; readonly result: V } | undefined
  return of => {
    if (last === undefined || last.of !== of) last = { of, result: compute(of) }
    return last.result
  }
}
