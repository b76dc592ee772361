/** All commands: those of the list, and those that are made of the list itself. */
import { suggestion } from '../lib/did-you-mean.ts'
import { USAGE } from '../server/config.ts'
import { VERSION } from '../version.ts'
import { type Command, command } from './command.ts'
import { completionFor, SHELLS, type Shell } from './completion.ts'
import { BadUsage } from './failures.ts'
import { groupHelp, helpOn, overview } from './help.ts'
import { COMMANDS } from './index.ts'
import type { TerminalStyle } from './output.ts'
import { findCommand } from './parse.ts'

const completion = (): Command =>
  command({
    name: 'completion',
    summary: 'print what makes a shell complete these commands',
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

const help = (all: readonly Command[], look: TerminalStyle): Command =>
  command({
    name: 'help',
    summary: 'what there is, or what a command takes',
    examples: ['help', 'help bucket', 'help bucket create'],
    arguments: [
      { name: 'COMMAND', meaning: 'its first word', optional: true },
      { name: 'SECOND', meaning: 'its second word', optional: true },
    ],
    async run(call) {
      const words = [call.maybeArgument('COMMAND'), call.maybeArgument('SECOND')].filter(word => word !== undefined)
      const listed = all.map(({ name, summary }) => ({ name, summary }))
      if (words.length === 0) return { value: { commands: listed }, text: overview(all, USAGE, look) }
      const members = all.filter(({ name }) => name === words[0] || name.startsWith(`${words[0]} `))
      if (words.length === 1 && members.length > 0) {
        const text = members.length === 1 ? helpOn(members[0]!, look) : groupHelp(words[0]!, members, look)
        return { value: { commands: members }, text }
      }
      const found = findCommand(words, all)
      return { value: found, text: helpOn(found, look) }
    },
  })

export function commandTable(look: TerminalStyle): readonly Command[] {
  const all: Command[] = [...COMMANDS]
  all.push(completion(), version(), help(all, look))
  return all
}
