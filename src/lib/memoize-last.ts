/**
 * Makes something of an argument, and does not make it again while the same one comes: for runs of equal ones. What is
 * made must depend on the argument alone.
 */
export function memoizeLast<K, V>(make: (of: K) => V): (of: K) => V {
  let last: { readonly of: K; readonly made: V } | undefined
  return of => {
    if (last === undefined || last.of !== of) last = { of, made: make(of) }
    return last.made
  }
}
