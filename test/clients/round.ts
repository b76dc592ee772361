/** One client: how it is installed, and its requests to the server. */
import type { Served } from './holdfast.ts'
import type { World } from './world.ts'

/** Throws when a check fails. */
export type Play = () => Promise<void>

export interface Round {
  readonly name: string
  /** The server whose log is checked afterwards. */
  server(world: World): Served
  /** Throws `Unavailable` when the client cannot be installed; otherwise returns its version and its round. */
  prepare(world: World): Promise<{ readonly version: string; readonly play: Play }>
}

export const plainServer = (world: World): Served => world.plain

export function expect(truth: boolean, what: string): asserts truth {
  if (!truth) throw new Error(`expected: ${what}`)
}

export function expectSame(found: readonly string[], wanted: readonly string[], what: string): void {
  const text = (names: readonly string[]): string => JSON.stringify([...names].sort())
  expect(text(found) === text(wanted), `${what}: ${text(wanted)}, not ${text(found)}`)
}
