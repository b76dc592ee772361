/** What `--help` prints, made from the table of commands. */
import type { Command, Flag } from './command.ts'
import { COMMON_FLAGS } from './command.ts'
import type { TerminalStyle } from './output.ts'

const shown = ({ name, value }: Flag): string => (value === undefined ? `--${name}` : `--${name} ${value}`)

function aligned(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd()).join('\n')
}

export function commandUsage(command: Command): string {
  const args = command.arguments.map(({ name, optional }) => (optional ? `[${name}]` : name))
  return ['holdfast', command.name, ...args, '[flags]'].join(' ')
}

export function helpOn(command: Command, look: TerminalStyle): string {
  const section = (title: string, text: string): string => `${look.strong(title)}\n${text}`
  const flags = [...command.flags, ...COMMON_FLAGS]
  const parts = [`${look.strong('usage:')} ${commandUsage(command)}`, command.summary]
  if (command.arguments.length > 0) {
    parts.push(section('arguments:', aligned(command.arguments.map(({ name, meaning }) => [name, meaning] as const))))
  }
  parts.push(section('flags:', aligned(flags.map(flag => [shown(flag), flag.meaning] as const))))
  parts.push(section('examples:', command.examples.map(example => `  holdfast ${example}`).join('\n')))
  return parts.join('\n\n')
}

/** About all commands that begin with a word: a line for each. */
export function groupHelp(group: string, members: readonly Command[], look: TerminalStyle): string {
  return [
    `${look.strong('usage:')} holdfast ${group} COMMAND [arguments] [flags]`,
    aligned(members.map(member => [commandUsage(member).replace(' [flags]', ''), member.summary] as const)),
    `holdfast ${members.at(-1)!.name} --help tells more of one.`,
  ].join('\n\n')
}

export function overview(commands: readonly Command[], serveUsage: string, look: TerminalStyle): string {
  return [
    `${look.strong('usage:')} holdfast COMMAND [arguments] [flags]\n       holdfast --version`,
    aligned(commands.map(({ name, summary }) => [name, summary] as const)),
    'holdfast help COMMAND, or holdfast COMMAND --help, tells more. Without a command it serves:',
    serveUsage,
  ].join('\n\n')
}
