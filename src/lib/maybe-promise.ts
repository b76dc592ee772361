/**
 * A value that is there, or that will be. What most often is there need not be waited for: every `await` costs a turn
 * of the queue and two objects, and there are dozens on the way of a small request. Whoever is in no hurry awaits it.
 */
export type MaybePromise<T> = T | Promise<T>

/** Goes on with it, at once where it is there. Throws at once what `next` then throws. */
export function andThen<A, B>(value: MaybePromise<A>, next: (value: A) => MaybePromise<B>): MaybePromise<B> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Does it, and goes on with `next` where it fails, now or later. */
export function orElse<T>(attempt: () => MaybePromise<T>, next: (error: unknown) => MaybePromise<T>): MaybePromise<T> {
  try {
    const value = attempt()
    return value instanceof Promise ? value.catch(next) : value
  } catch (error) {
    return next(error)
  }
}

/** Does it, and `last` when it is over, however it went. */
export function andFinally<T>(attempt: () => MaybePromise<T>, last: () => void): MaybePromise<T> {
  let value: MaybePromise<T>
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
