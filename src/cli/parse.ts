/** From words to a command and what it is given. */
import { parseArgs } from 'node:util'
import { suggestion } from '../lib/did-you-mean.ts'
import { COMMON_FLAGS, type Command } from './command.ts'
import { BadUsage } from './failures.ts'
import { usageOf } from './help.ts'

export interface Parsed {
  readonly command: Command
  readonly positionals: readonly string[]
  readonly values: ReadonlyMap<string, string | true>
}

export function findCommand(words: readonly string[], commands: readonly Command[]): Command {
  const [first = '', second] = words
  const exact =
    commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first)
  if (exact !== undefined) return exact
  const members = commands.filter(({ name }) => name.startsWith(`${first} `))
  if (members.length === 0) {
    const groups = [...new Set(commands.map(({ name }) => name.split(' ')[0]!))]
    throw new BadUsage(`unknown command: ${first}${suggestion(first, groups)}`)
  }
  const names = members.map(({ name }) => name.slice(first.length + 1))
  if (second === undefined || second.startsWith('-')) throw new BadUsage(`holdfast ${first} what? ${names.join(', ')}`)
  throw new BadUsage(`unknown command: ${first} ${second}${suggestion(second, names)}`)
}

export function parse(words: readonly string[], commands: readonly Command[]): Parsed {
  const command = findCommand(words, commands)
  const rest = words.slice(command.name.split(' ').length)
  const flags = [...command.flags, ...COMMON_FLAGS]
  const options = Object.fromEntries(
    flags.map(({ name, value }) => [name, { type: value === undefined ? ('boolean' as const) : ('string' as const) }]),
  )
  const { tokens, positionals, values } = parseArgs({
    args: [...rest],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const flag = flags.find(({ name }) => name === token.name)
    if (flag === undefined) {
      const known = flags.map(({ name }) => `--${name}`)
      throw new BadUsage(`unknown flag: ${token.rawName}${suggestion(token.rawName, known)}`)
    }
    if (flag.value !== undefined && typeof token.value !== 'string') {
      throw new BadUsage(`${token.rawName} needs ${flag.value}`)
    }
    if (flag.value === undefined && token.value !== undefined) throw new BadUsage(`${token.rawName} takes nothing`)
  }
  const given = new Map(Object.entries(values) as [string, string | true][])
  if (given.get('help') !== true) checkArguments(command, positionals)
  return { command, positionals, values: given }
}

function checkArguments(command: Command, positionals: readonly string[]): void {
  const wanted = command.arguments
  const missing = wanted[positionals.length]
  if (missing !== undefined && !missing.optional) {
    throw new BadUsage(`${missing.name} is missing: ${usageOf(command)}`)
  }
  if (positionals.length > wanted.length) {
    throw new BadUsage(`${positionals[wanted.length]} is too much: ${usageOf(command)}`)
  }
}
