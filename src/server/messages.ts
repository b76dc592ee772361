/** Messages between the supervisor and its workers. */
import type { Certificate } from '../http/listen.ts'
import type { EpochKind } from '../store/reclaim/reclamation-barrier.ts'
import type { Sample } from '../telemetry/families.ts'
import type { ObjectServerOptions } from './object-server.ts'

/** Everything a worker needs. Work on the folder as a whole is done before it starts. */
export interface WorkerAssignment extends ObjectServerOptions {
  readonly incarnation: number
  /** Generation of the second copy, if the engine has one. */
  readonly generation: number | undefined
  /** Six bytes in hexadecimal. */
  readonly writer: string
  /** The membership of its server, in hexadecimal; undefined where records are on a local disk. */
  readonly member: string | undefined
}

export type ToWorker =
  | { readonly do: 'assign'; readonly assignment: WorkerAssignment }
  | { readonly do: 'heartbeat' }
  /** Reply once all current readers or drafts have finished. */
  | { readonly do: 'drain'; readonly of: EpochKind; readonly number: number }
  /** The keyring has changed: reply once it is reloaded. */
  | { readonly do: 'reload keys'; readonly number: number }
  /** The known losses have changed: reply once they are reloaded. */
  | { readonly do: 'reload findings'; readonly number: number }
  /** Reply with all samples. */
  | { readonly do: 'metrics'; readonly number: number }
  | { readonly do: 'renew'; readonly certificate: Certificate }
  /** The page of the console on this port may send requests. */
  | { readonly do: 'console port'; readonly port: number | undefined }
  /** Reopen log files after rotation. */
  | { readonly do: 'reopen' }
  | { readonly do: 'stop' }

export type ToSupervisor =
  | { readonly did: 'start' }
  | { readonly did: 'listen' }
  | { readonly did: 'fail'; readonly why: string }
  | { readonly did: 'heartbeat' }
  | { readonly did: 'finish'; readonly number: number }
  | { readonly did: 'metrics'; readonly number: number; readonly samples: readonly Sample[] }
