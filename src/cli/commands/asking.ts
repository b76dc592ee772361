/** Commands that are one question to the admin API. */
import type { Call, Command } from '../command.ts'
import { facts } from '../output.ts'

export type Row = Readonly<Record<string, unknown>>
type Input = (call: Call) => Row | Promise<Row>

export const rows = (answer: Row, name: string): readonly Row[] => answer[name] as readonly Row[]

/** Asks, and says in one line what was done. */
export function doing(route: string, input: Input, done: (call: Call) => string): Command['run'] {
  return async call => {
    const value = await (await call.admin()).ask(route, await input(call))
    return { value, text: done(call) }
  }
}

/** Asks, and shows the answer. */
export function showing(route: string, input: Input, show: (answer: Row) => string = facts): Command['run'] {
  return async call => {
    const value = await (await call.admin()).ask(route, await input(call))
    return { value, text: show(value) }
  }
}
