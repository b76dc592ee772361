/**
 * A value, or a promise of it. Every `await` costs a turn of the microtask queue and allocations, and most small reads
 * complete synchronously: a hot path awaits such a result only `if (result instanceof Promise)`.
 */
export type MaybePromise<T> = T | Promise<T>
