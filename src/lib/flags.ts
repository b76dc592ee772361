/** Reads flags by a table of them, for `serve` and for every other command alike. */
import { parseArgs } from 'node:util'
import { suggestion } from './did-you-mean.ts'

export interface KnownFlag {
  readonly name: string
  /** Placeholder of its value; undefined for a switch. */
  readonly value?: string | undefined
  /** One letter that means the same. */
  readonly short?: string
}

export interface GivenFlags {
  readonly positionals: readonly string[]
  readonly values: ReadonlyMap<string, string | true>
}

/** Its message is one line that tells what to change. */
export class BadFlag extends Error {}

export function readFlags(args: readonly string[], flags: readonly KnownFlag[]): GivenFlags {
  const options = Object.fromEntries(
    flags.map(({ name, value, short }) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short === undefined ? {} : { short }),
      },
    ]),
  )
  // Not strict: the parser's own refusals suggest nothing and speak of "positional arguments".
  const found = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true })
  for (const token of found.tokens) {
    if (token.kind === 'option') check(token, flags)
  }
  return { positionals: found.positionals, values: new Map(Object.entries(found.values) as [string, string | true][]) }
}

interface Token {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
}

function check({ name, rawName, value }: Token, flags: readonly KnownFlag[]): void {
  const flag = flags.find(known => known.name === name)
  if (flag === undefined) {
    const known = flags.map(one => `--${one.name}`)
    throw new BadFlag(`unknown flag: ${rawName}${suggestion(rawName, known)}`)
  }
  if (flag.value !== undefined && typeof value !== 'string') throw new BadFlag(`${rawName} needs ${flag.value}`)
  if (flag.value === undefined && value !== undefined) throw new BadFlag(`${rawName} takes no value`)
}
