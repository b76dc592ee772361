/**
 * Shell completion. The scripts contain no command names but call the program (`__complete`), which knows the commands
 * and asks a running server for the names of buckets, accounts, users, keys and policies.
 */
import type { Command, Flag } from './command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

export interface Candidate {
  readonly word: string
  readonly summary: string
}

/** The words before the one to complete. */
export interface Before {
  readonly positionals: ReadonlyMap<string, string>
  readonly flags: ReadonlyMap<string, string>
}

/** Possible values of a placeholder such as BUCKET. */
export type NamesOf = (placeholder: string, before: Before) => Promise<readonly Candidate[]>

const withPrefix = (candidates: readonly Candidate[], prefix: string): Candidate[] =>
  candidates.filter(({ word }) => word.startsWith(prefix))

/** Lower-case alternatives such as `on|suspended` are literal values; `FILE|BUCKET` is a placeholder. */
function choices(placeholder: string): Candidate[] {
  if (!/^[a-z-]+(\|[a-z-]+)+$/.test(placeholder)) return []
  return placeholder.split('|').map(word => ({ word, summary: '' }))
}

function commandWords(before: readonly string[], commands: readonly Command[]): Candidate[] {
  const start = before.map(word => `${word} `).join('')
  const found = new Map<string, string>()
  for (const { name, summary } of commands) {
    if (!name.startsWith(start)) continue
    const [word = '', ...more] = name.slice(start.length).split(' ')
    if (!found.has(word)) found.set(word, more.length === 0 ? summary : '')
  }
  return [...found].map(([word, summary]) => ({ word, summary }))
}

interface Reading {
  readonly before: Before
  /** The flag whose value is the next word. */
  readonly waiting: Flag | undefined
}

/** Reads words as `parse` does, but tolerates mistakes, because the line is unfinished. */
function readWords({ flags, ...command }: Command, words: readonly string[]): Reading {
  const given = new Map<string, string>()
  const positionals = new Map<string, string>()
  let waiting: Flag | undefined
  for (const word of words) {
    if (waiting !== undefined) {
      given.set(waiting.name, word)
      waiting = undefined
    } else if (word.startsWith('--')) {
      const [name = '', value] = word.slice(2).split('=', 2)
      const flag = flags.find(one => one.name === name)
      if (flag?.value !== undefined && value === undefined) waiting = flag
      given.set(name, value ?? '')
    } else {
      const argument = command.arguments[positionals.size]
      positionals.set(argument?.name ?? `extra ${positionals.size}`, word)
    }
  }
  return { before: { positionals, flags: given }, waiting }
}

/** Every command has it without declaring it. */
const HELP_FLAG: Flag = { name: 'help', meaning: 'print help' }

const flagWords = (command: Command, { flags }: Before): Candidate[] =>
  [...command.flags, HELP_FLAG]
    .filter(({ name }) => !flags.has(name))
    .map(({ name, meaning }) => ({ word: `--${name}`, summary: meaning }))

/** `words` are those after the program's name; the last one, which may be empty, is to be completed. */
export async function complete(
  words: readonly string[],
  commands: readonly Command[],
  namesOf: NamesOf,
): Promise<Candidate[]> {
  const current = words.at(-1) ?? ''
  const earlier = words.slice(0, -1)
  const command = [earlier.slice(0, 2), earlier.slice(0, 1)]
    .map(start => commands.find(({ name }) => name === start.join(' ')))
    .find(found => found !== undefined)
  if (command === undefined) return withPrefix(commandWords(earlier, commands), current)
  const { before, waiting } = readWords(command, earlier.slice(command.name.split(' ').length))
  const values = async (placeholder: string, prefix: string): Promise<Candidate[]> =>
    withPrefix([...choices(placeholder), ...(await namesOf(placeholder, before))], prefix)
  if (waiting !== undefined) return values(waiting.value!, current)
  const [, name, part] = /^--([^=]+)=(.*)$/s.exec(current) ?? []
  const flag = command.flags.find(one => one.name === name)
  if (flag?.value !== undefined) {
    const found = await values(flag.value, part!)
    return found.map(({ word, summary }) => ({ word: `--${name}=${word}`, summary }))
  }
  if (current.startsWith('-')) return withPrefix(flagWords(command, before), current)
  const argument = command.arguments[before.positionals.size]
  const more = before.positionals.size === 0 ? commandWords(earlier, commands) : []
  if (argument === undefined) return withPrefix([...more, ...flagWords(command, before)], current)
  return [...withPrefix(more, current), ...(await values(argument.name, current))]
}

// Bash splits words at colons and equals signs and replaces only the part after the last of them.
const BASH = `_holdfast() {
  local line="\${COMP_LINE:0:COMP_POINT}" current="\${COMP_WORDS[COMP_CWORD]}" whole candidate
  local -a words
  read -ra words <<< "$line"
  case "$line" in *' ') words+=('') ;; esac
  whole="\${words[\${#words[@]}-1]}"
  case "$current" in ':' | '=') current='' ;; esac
  COMPREPLY=()
  while IFS= read -r candidate; do
    COMPREPLY+=("\${candidate#"\${whole%"$current"}"}")
  done < <("\${words[0]}" __complete "\${words[@]:1}" 2> /dev/null | cut -f 1)
}
complete -o default -F _holdfast holdfast
`

const ZSH = `#compdef holdfast
_holdfast() {
  local line
  local -a found
  for line in "\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    [[ -n "$line" ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe 'holdfast' found; else _files; fi
}
compdef _holdfast holdfast
`

const FISH = `function __holdfast_complete
  set -l words (commandline -opc)
  command $words[1] __complete $words[2..-1] (commandline -ct) 2> /dev/null
end
complete -c holdfast -a '(__holdfast_complete)'
`

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH }

export const completionFor = (shell: Shell): string => SCRIPTS[shell]
