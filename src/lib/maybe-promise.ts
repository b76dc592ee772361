/**
 * A value, or a promise of it. Every `await` costs a turn of the microtask queue and allocations, and most small reads
 * complete synchronously: a hot path awaits such a result only `if (result instanceof Promise)`.
 */
export type MaybePromise<T> = T | Promise<T>

/**
 * The value if it is known now. A promise is given up, and its error with it: for callers that can obtain the value in
 * another way, which then meets the same error.
 */
export function knownNow<T>(value: MaybePromise<T>): T | undefined {
  if (!(value instanceof Promise)) return value
  value.catch(() => {})
  return undefined
}

/** `try … finally` around a computation that may go on after it returns. */
export function withFinally<T>(run: () => MaybePromise<T>, finish: () => void): MaybePromise<T> {
  let running: MaybePromise<T> | undefined
  try {
    running = run()
  } finally {
    if (!(running instanceof Promise)) finish()
  }
  return running instanceof Promise ? running.finally(finish) : running
}
