/**
 * A value that is there, or that will be. What most often is there need not be waited for: every `await` costs a turn
 * of the queue and two objects, and there are dozens on the way of a small request. Whoever is in no hurry awaits it.
 */
export type Soon<T> = T | Promise<T>

/** Goes on with it, at once where it is there. Throws at once what `next` then throws. */
export function after<A, B>(value: Soon<A>, next: (value: A) => Soon<B>): Soon<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Does it, and goes on with `next` where it fails, now or later. */
export function unless<T>(attempt: () => Soon<T>, next: (error: unknown) => Soon<T>): Soon<T> {
  try {
    const value = attempt()
    return value instanceof Promise ? value.catch(next) : value
  } catch (error) {
    return next(error)
  }
}

/** Does it, and `last` when it is over, however it went. */
export function lastly<T>(attempt: () => Soon<T>, last: () => void): Soon<T> {
  let value: Soon<T>
  try {
    value = attempt()
  } catch (error) {
    last()
    throw error
  }
  if (value instanceof Promise) return value.finally(last)
  last()
  return value
}
