/** Builds the tree of commands that Commander parses words with, and finds in it the command that they name. */
import type { Command as CommanderCommand } from 'commander'
import { CommandLine, CommandLineError, type FlagValues } from '../lib/command-line.ts'
import type { Command } from './command.ts'
import { BadUsage } from './failures.ts'
import { PLAIN, type TerminalStyle } from './output.ts'

export interface Parsed {
  readonly command: Command
  readonly positionals: readonly string[]
  readonly values: FlagValues
}

const GROUP_USAGE = 'COMMAND [arguments] [flags]'

type OnParsed = (parsed: Parsed) => void

/** Places every command below its group: `account create` below `account`. */
export function commandTree(commands: readonly Command[], style: TerminalStyle, onParsed: OnParsed): CommandLine {
  const root = new CommandLine('holdfast').usage(GROUP_USAGE)
  root.configureHelp({
    ...root.configureHelp(),
    styleTitle: style.strong,
    subcommandTerm: one => (one as CommandLine).usageLine().replace(' [flags]', ''),
  })
  for (const command of commands) {
    const words = command.name.split(' ')
    const parent = words.slice(0, -1).reduce(childNamed, root)
    const line = childNamed(parent, words.at(-1)!)
    line
      .description(command.summary)
      .withArguments(command.arguments)
      .withFlags(command.flags)
      .addHelpText('after', examplesOf(command, style))
      .action(() => onParsed({ command, positionals: line.args, values: line.givenFlags() }))
  }
  root.configureHelp({
    ...root.configureHelp(),
    visibleCommands: () => root.commands.flatMap(one => [one, ...one.commands]).filter(isCommand),
    subcommandTerm: one => (one.parent === root ? one.name() : `${one.parent!.name()} ${one.name()}`),
  })
  return root
}

/** Groups have no description. */
const isCommand = (line: CommanderCommand): boolean => line.description() !== ''

function childNamed(parent: CommandLine, name: string): CommandLine {
  const known = parent.commands.find(one => one.name() === name)
  return (known ?? parent.command(name).usage(GROUP_USAGE)) as CommandLine
}

const examplesOf = ({ examples }: Command, style: TerminalStyle): string =>
  `\n${style.strong('Examples:')}\n${examples.map(example => `  holdfast ${example}`).join('\n')}`

/** Throws HelpRequested where the words ask for help. */
export function parse(words: readonly string[], commands: readonly Command[], style = PLAIN): Parsed {
  let parsed: Parsed | undefined
  const tree = commandTree(commands, style, found => {
    parsed = found
  })
  try {
    tree.parse(words, { from: 'user' })
  } catch (error) {
    throw error instanceof CommandLineError ? new BadUsage(error.message) : error
  }
  return parsed!
}
