/** What the supervisor and its workers say to each other. */
import type { Certificate } from '../http/listen.ts'
import type { EpochKind } from '../store/reclaim/reclamation-barrier.ts'
import type { Sample } from '../telemetry/families.ts'
import type { ObjectServerOptions } from './object-server.ts'

/** Everything a worker needs; what belongs to the folder as a whole was done before it was started. */
export interface WorkerAssignment extends ObjectServerOptions {
  readonly epoch: number
  /** Of the second copy; none where there is none. */
  readonly generation: number | undefined
  /** Six bytes in hexadecimal. */
  readonly writer: string
}

export type ToWorker =
  | { readonly do: 'work'; readonly assignment: WorkerAssignment }
  /** Say that you are there. */
  | { readonly do: 'beat' }
  /** Say when everybody who is inside now has left. */
  | { readonly do: 'line'; readonly of: EpochKind; readonly number: number }
  /** The keyring has changed: say when it is read again. */
  | { readonly do: 'reload keys'; readonly number: number }
  /** Other records are known to be lost: say when you know them. */
  | { readonly do: 'reload findings'; readonly number: number }
  /** Say what you measure. */
  | { readonly do: 'measure'; readonly number: number }
  | { readonly do: 'renew'; readonly certificate: Certificate }
  /** Files of the log may have been moved away. */
  | { readonly do: 'reopen' }
  | { readonly do: 'stop' }

export type ToSupervisor =
  | { readonly did: 'come' }
  | { readonly did: 'listen' }
  | { readonly did: 'fail'; readonly why: string }
  | { readonly did: 'beat' }
  | { readonly did: 'pass'; readonly number: number }
  | { readonly did: 'measure'; readonly number: number; readonly samples: readonly Sample[] }
