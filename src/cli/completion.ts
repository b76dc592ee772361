/** Completion for shells, made from the table of commands: what may stand next, after the words before it. */
import type { Command } from './command.ts'
import { COMMON_FLAGS } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

interface Place {
  /** Words before: none, one or two. */
  readonly after: string
  readonly words: readonly { readonly word: string; readonly summary: string }[]
}

const flagsOf = (command: Command) =>
  [...command.flags, ...COMMON_FLAGS].map(({ name, meaning }) => ({ word: `--${name}`, summary: meaning }))

/** `backup` is a command and the first word of others. */
const secondsOf = ({ name }: Command, commands: readonly Command[]) =>
  commands
    .filter(other => other.name.startsWith(`${name} `))
    .map(other => ({ word: other.name.slice(name.length + 1), summary: other.summary }))

export function placesOf(commands: readonly Command[]): Place[] {
  const groups = new Map<string, Command[]>()
  for (const command of commands) {
    const group = command.name.split(' ')[0]!
    groups.set(group, [...(groups.get(group) ?? []), command])
  }
  const first = [...groups].map(([word, [one]]) => ({ word, summary: one!.name === word ? one!.summary : '' }))
  const second = [...groups]
    .filter(([word, [one]]) => one!.name !== word)
    .map(([after, members]) => ({
      after,
      words: members.map(({ name, summary }) => ({ word: name.slice(after.length + 1), summary })),
    }))
  return [
    { after: '', words: first },
    ...second,
    ...commands.map(command => ({
      after: command.name,
      words: [...secondsOf(command, commands), ...flagsOf(command)],
    })),
  ]
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const listed = (place: Place): string => place.words.map(({ word }) => word).join(' ')

/** Both shells know `case`; the words before the cursor, without flags, choose the branch. */
function cases(places: readonly Place[], indent: string): string {
  return [...places]
    .sort((a, b) => b.after.length - a.after.length)
    .map(place => `${indent}${quoted(place.after)}*) words=${quoted(listed(place))} ;;`)
    .join('\n')
}

function bash(places: readonly Place[]): string {
  return `_holdfast() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) before="\${before:+$before }$word" ;; esac
  done
  case "$before" in
${cases(places, '    ')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _holdfast holdfast
`
}

function zsh(places: readonly Place[]): string {
  return `#compdef holdfast
_holdfast() {
  local before='' words_ word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$word" in -*) ;; *) before="\${before:+$before }$word" ;; esac
  done
  local words=''
  case "$before" in
${cases(places, '    ')}
  esac
  compadd -- \${=words}
  _files
}
compdef _holdfast holdfast
`.replace(' words_', '')
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ after, words }) =>
    words.map(({ word, summary }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
      return `complete -c holdfast -n ${quoted(`__holdfast_after ${quoted(after)}`)} ${what} -d ${quoted(summary)}`
    }),
  )
  return `function __holdfast_after
  set -l words
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or set -a words $word
  end
  test "$words" = "$argv[1]"
end
${lines.join('\n')}
`
}

const WRITERS: Readonly<Record<Shell, (places: readonly Place[]) => string>> = { bash, zsh, fish }

export const completionFor = (shell: Shell, commands: readonly Command[]): string => WRITERS[shell](placesOf(commands))
