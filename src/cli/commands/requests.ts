/** Commands that make one call to the admin API. */
import type { Command, Invocation } from '../command.ts'
import { facts } from '../output.ts'

export type TableRow = Readonly<Record<string, unknown>>
type Input = (call: Invocation) => TableRow | Promise<TableRow>

export const rows = (result: TableRow, name: string): readonly TableRow[] => result[name] as readonly TableRow[]

/** Calls the route and prints one line that confirms it. */
export function runAdminCommand(route: string, input: Input, done: (call: Invocation) => string): Command['run'] {
  return async call => {
    const value = await (await call.admin()).ask(route, await input(call))
    return { value, text: done(call) }
  }
}

/** Calls the route and prints its result. */
export function showAdminResult(
  route: string,
  input: Input,
  show: (result: TableRow) => string = facts,
): Command['run'] {
  return async call => {
    const value = await (await call.admin()).ask(route, await input(call))
    return { value, text: show(value) }
  }
}
