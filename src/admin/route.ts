/** The declaration of an admin API route: its path, its input, its permission and its implementation. */

import type { BackupLeases } from '../backup/lease.ts'
import type { ServerBackups } from '../backup/server-backup.ts'
import type { ExplainQuestion } from '../edge/explain.ts'
import type { Clock } from '../lib/clock.ts'
import type { Account, User } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Explanation } from '../rules/explanation.ts'
import type { Accounts } from '../store/identity/accounts.ts'
import type { IdentitySnapshot } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import type { Sample } from '../telemetry/families.ts'
import type { ConsoleSession } from './console/sessions.ts'
import type { FsckRound } from './fsck-round.ts'
import type { InputFields, InputOf, Schema } from './input.ts'
import type { ScrubRound } from './scrub-round.ts'

/** Explains whether the owner of an access key may do something; without a key, an anonymous caller. */
export type ExplainAccess = (
  question: Omit<ExplainQuestion, 'as'> & { readonly accessKey: string | undefined },
) => Promise<Explanation>

export interface AdminCaller {
  readonly account: Account
  /** Only in the console: a user's signature is not accepted by the admin API. */
  readonly user: User | undefined
  readonly accessKey: string
}

/** The context of a route's `run`. */
export interface AdminContext {
  /** Records changes of locks in the caller's name. */
  readonly store: Store
  readonly accounts: Accounts
  readonly identities: IdentitySnapshot
  readonly caller: AdminCaller
  /** False only for routes that every signed-in caller may use. */
  readonly isAdministrator: boolean
  /** The session of a request of the console's page. */
  readonly session?: ConsoleSession | undefined
  /** Where browsers reach the object API; undefined on the command line. */
  readonly objectUrl?: string | undefined
  readonly requestId: string
  readonly clock: Clock
  readonly region: string
  readonly scrub: ScrubRound
  readonly fsck: FsckRound
  readonly backups: BackupLeases
  readonly serverBackups: ServerBackups
  readonly explain: ExplainAccess
  readonly collectMetrics: () => Promise<Sample[]>
  readonly facts: () => Promise<ServerFacts>
  /** Undefined on the command line, which has no server. */
  readonly inspection?: ServerInspection | undefined
}

/** Facts about a running server; a command on a folder knows only some of them. */
export interface ServerFacts {
  readonly version: string
  readonly runtime: string
  readonly startedAt?: string
  readonly uptimeSeconds?: number
  readonly ready?: boolean
  readonly certificateExpiresAt?: string
  readonly filesystems: readonly {
    /** The kind of data in the folder. */
    readonly folder: string
    readonly totalBytes: number
    readonly freeBytes: number
    readonly files: number
    readonly freeFiles: number
  }[]
}

/** A process of the server that serves requests. */
export interface ServingProcess {
  readonly pid: number
  readonly startedAt: string
  readonly listening: boolean
  /** As of the last scrape. */
  readonly residentBytes: number | undefined
  readonly cpuSeconds: number | undefined
  readonly requestsInFlight: number | undefined
}

/** The running server as its operator sees it. */
export interface ServerInspection {
  readonly processes: () => Promise<readonly ServingProcess[]>
  /** The settings in force, without secrets. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Websites are served at `<bucket>.<host>` of each. */
  readonly websiteHosts: readonly string[]
}

type AdminMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A response that is streamed line by line. */
export interface LineStream {
  readonly contentType: string
  readonly lines: AsyncIterable<string>
}

/** A response that is streamed as bytes. */
export interface ByteStream {
  readonly contentType: string
  readonly bytes: AsyncIterable<Buffer>
}

export interface Route {
  readonly name: string
  readonly method: AdminMethod
  /** `{name}` matches one segment. */
  readonly path: string
  readonly summary: string
  /**
   * Which clients may call it: administrators, also those with the scrape token, any that is signed in to the console,
   * those that are about to sign in or out, or any. Has no default.
   */
  readonly permission: 'admin' | 'scraper' | 'signed-in' | 'sign-in' | 'anyone'
  readonly input: InputFields
  /** The status of success; 204 for an empty response. */
  readonly status: 200 | 201 | 202 | 204
  /** The schema of the result. */
  readonly answer?: Schema
  /** Whether this result reports work still in progress, which is a 202. */
  readonly isPending?: (answer: unknown) => boolean
  run(ctx: AdminContext, input: Record<string, unknown>): Promise<unknown>
}

interface Declaration<F extends InputFields> extends Omit<Route, 'input' | 'run' | 'status'> {
  readonly input: F
  readonly status?: Route['status']
  run(ctx: AdminContext, input: InputOf<F>): Promise<unknown>
}

export function route<const F extends InputFields>(declared: Declaration<F>): Route {
  const names = [...declared.path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  const wanted = Object.keys(declared.input).filter(name => declared.input[name]!.place === 'path')
  if (names.sort().join() !== wanted.sort().join())
    throw new Error(`${declared.name}: its path parameters and its input differ`)
  return {
    ...declared,
    status: declared.status ?? 200,
    run: (ctx, input) => declared.run(ctx, input as InputOf<F>),
  }
}

export const isLineStream = (answer: unknown): answer is LineStream =>
  typeof answer === 'object' && answer !== null && 'lines' in answer && 'contentType' in answer

export const isByteStream = (answer: unknown): answer is ByteStream =>
  typeof answer === 'object' && answer !== null && 'bytes' in answer && 'contentType' in answer

export interface RouteMatch {
  readonly route: Route
  readonly path: ReadonlyMap<string, string>
}

const segmentsOf = (path: string): string[] => path.split('/').slice(1)
const isName = (segment: string): boolean => segment.startsWith('{')

/** The route table. Its constructor refuses ambiguous routes. */
export class RouteTable {
  readonly routes: readonly Route[]

  constructor(routes: readonly Route[]) {
    this.routes = routes
    for (const [i, one] of routes.entries()) {
      for (const other of routes.slice(i + 1)) {
        if (one.name === other.name) throw new Error(`two routes have the name ${one.name}`)
        if (collide(one, other)) throw new Error(`${one.name} and ${other.name} match the same request`)
      }
    }
  }

  byName(name: string): Route {
    const found = this.routes.find(one => one.name === name)
    if (found === undefined) throw new Error(`there is no route ${name}`)
    return found
  }

  /** Undefined when no route has this path. Segments are decoded once, after splitting. */
  find(method: string, path: string): RouteMatch | undefined {
    const segments = segmentsOf(path)
    const there = this.routes.filter(one => fits(one.path, segments))
    if (there.length === 0) return undefined
    const found = there.find(one => one.method === method)
    if (found === undefined) throw new Fault('MethodNotAllowed')
    const names = segmentsOf(found.path)
    const values = new Map<string, string>()
    for (const [i, name] of names.entries()) if (isName(name)) values.set(name.slice(1, -1), decoded(segments[i]!))
    return { route: found, path: values }
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw new Fault('InvalidURI')
  }
}

function fits(path: string, segments: readonly string[]): boolean {
  const names = segmentsOf(path)
  return names.length === segments.length && names.every((name, i) => isName(name) || name === segments[i])
}

function collide(one: Route, other: Route): boolean {
  if (one.method !== other.method) return false
  const [a, b] = [segmentsOf(one.path), segmentsOf(other.path)]
  return a.length === b.length && a.every((name, i) => isName(name) || isName(b[i]!) || name === b[i])
}
