/** From words to a command and what it is given. */
import { suggestion } from '../lib/did-you-mean.ts'
import { BadFlag, type GivenFlags, readFlags } from '../lib/flags.ts'
import { COMMON_FLAGS, type Command, type Flag } from './command.ts'
import { BadUsage } from './failures.ts'
import { commandUsage } from './help.ts'

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
  if (second === undefined || second.startsWith('-'))
    throw new BadUsage(`holdfast ${first} needs one of: ${names.join(', ')}`)
  throw new BadUsage(`unknown command: ${first} ${second}${suggestion(second, names)}`)
}

export function parse(words: readonly string[], commands: readonly Command[]): Parsed {
  const command = findCommand(words, commands)
  const rest = words.slice(command.name.split(' ').length)
  const flags = [...command.flags, ...COMMON_FLAGS]
  const { positionals, values } = givenTo(rest, flags)
  if (values.get('help') !== true) checkArguments(command, positionals)
  return { command, positionals, values }
}

function givenTo(words: readonly string[], flags: readonly Flag[]): GivenFlags {
  try {
    return readFlags(words, flags)
  } catch (error) {
    throw error instanceof BadFlag ? new BadUsage(error.message) : error
  }
}

function checkArguments(command: Command, positionals: readonly string[]): void {
  const wanted = command.arguments
  const missing = wanted[positionals.length]
  if (missing !== undefined && !missing.optional) {
    throw new BadUsage(`${missing.name} is missing: ${commandUsage(command)}`)
  }
  if (positionals.length > wanted.length) {
    throw new BadUsage(`unexpected argument ${positionals[wanted.length]}: ${commandUsage(command)}`)
  }
}
