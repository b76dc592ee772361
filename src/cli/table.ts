/** The table of commands together with the commands that describe it: completion, version and help. */
import { suggestion } from '../lib/did-you-mean.ts'
import { serveHelp } from '../server/config.ts'
import { VERSION } from '../version.ts'
import { type Command, command } from './command.ts'
import { completionFor, SHELLS, type Shell } from './completion.ts'
import { BadUsage } from './failures.ts'
import { COMMANDS } from './index.ts'
import type { TerminalStyle } from './output.ts'
import { commandTree } from './parse.ts'

const completion = (): Command =>
  command({
    name: 'completion',
    summary: 'print the completion script of a shell',
    examples: ['completion bash', 'completion fish'],
    arguments: [{ name: SHELLS.join('|'), meaning: 'the shell' }],
    async run(call) {
      const wanted = call.argument(SHELLS.join('|'))
      const shell = SHELLS.find(name => name === wanted)
      if (shell === undefined) throw new BadUsage(`unknown shell: ${wanted}${suggestion(wanted, SHELLS)}`)
      const text = completionFor(shell satisfies Shell).trimEnd()
      return { value: { shell, script: text }, text }
    },
  })

const version = (): Command =>
  command({
    name: 'version',
    summary: 'print the version',
    examples: ['version', 'version --json'],
    run: async () => ({ value: { version: VERSION }, text: `holdfast ${VERSION}` }),
  })

const help = (all: readonly Command[], style: TerminalStyle): Command =>
  command({
    name: 'help',
    summary: 'list all commands, or describe one',
    examples: ['help', 'help bucket', 'help bucket create'],
    arguments: [
      { name: 'COMMAND', meaning: 'first word of the command', optional: true },
      { name: 'SUBCOMMAND', meaning: 'second word of the command', optional: true },
    ],
    async run(call) {
      const words = [call.maybeArgument('COMMAND'), call.maybeArgument('SUBCOMMAND')].filter(word => word !== undefined)
      const line = commandTree(all, style, () => {}).find(words)
      if (words.length === 0) {
        const commands = all.map(({ name, summary }) => ({ name, summary }))
        return { value: { commands }, text: `${line.helpText()}\n\n${SERVES_BY_DEFAULT}\n\n${serveHelp()}` }
      }
      const name = words.join(' ')
      const exact = all.find(one => one.name === name)
      const members = all.filter(one => one.name.startsWith(`${name} `))
      return { value: members.length === 0 ? exact : { commands: [exact, ...members] }, text: line.helpText() }
    },
  })

const SERVES_BY_DEFAULT = `holdfast help COMMAND describes a command. Without a command, holdfast runs the server:`

export function commandTable(style: TerminalStyle): readonly Command[] {
  const all: Command[] = [...COMMANDS]
  all.push(completion(), version(), help(all, style))
  return all
}
