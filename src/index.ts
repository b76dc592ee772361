/// <reference lib="esnext.disposable" preserve="true" />
/** What `import … from 'holdfast'` gives: the store inside another process. */
export type { HoldfastClock, Span } from './embedded/clock.ts'
export type { FaultEffect, FaultMatch, FaultRule, HoldfastFaults, InjectedFault } from './embedded/faults.ts'
export { Holdfast, type LifecycleRound } from './embedded/holdfast.ts'
export type {
  AccountOption,
  Credentials,
  HoldfastOptions,
  KeyOption,
  S3ClientOptions,
  UserOption,
} from './embedded/options.ts'
