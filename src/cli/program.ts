/**
 * Runs one command. Exit codes: 0 for success; 1 when the command failed or found a problem; 2 for a usage error. An
 * error is one line on standard error.
 */
import { createReadStream, readFileSync } from 'node:fs'
import { text as textOf } from 'node:stream/consumers'
import { StringDecoder } from 'node:string_decoder'
import { CommandLineError, HelpRequested } from '../lib/command-line.ts'
import { Fault } from '../model/faults.ts'
import { BadConfig, variable } from '../server/config.ts'
import type { Admin } from './admin.ts'
import type { Command, CommandOutput, CommandResult, CommandStreams, Invocation } from './command.ts'
import { type Before, complete } from './completion.ts'
import { adminFor } from './connect.ts'
import { BadUsage, CommandFailed } from './failures.ts'
import { namesFor } from './names.ts'
import { escapeControls, terminalStyle } from './output.ts'
import { type Parsed, parse } from './parse.ts'
import { commandTable } from './table.ts'

export const EXIT_FAILED = 1
export const EXIT_USAGE = 2
const USAGE_ERRORS = [CommandLineError, BadUsage, BadConfig]

class Running implements Invocation {
  readonly env: NodeJS.ProcessEnv
  readonly #parsed: Parsed
  readonly #streams: CommandStreams
  #admin: Promise<Admin> | undefined

  constructor(parsed: Parsed, env: NodeJS.ProcessEnv, streams: CommandStreams) {
    this.#parsed = parsed
    this.env = env
    this.#streams = streams
  }

  get stderr(): CommandOutput {
    return this.#streams.stderr
  }

  maybeArgument(name: string): string | undefined {
    return this.#parsed.positionals[this.#parsed.command.arguments.findIndex(argument => argument.name === name)]
  }

  argument(name: string): string {
    return this.maybeArgument(name)!
  }

  flag(name: string): string | undefined {
    const given = this.#parsed.values.get(name)
    if (typeof given === 'string') return given
    const declared = this.#parsed.command.flags.find(flag => flag.name === name)
    return declared?.fromEnvironment ? this.env[variable(name)] || undefined : undefined
  }

  has(name: string): boolean {
    return this.#parsed.values.get(name) === true
  }

  async read(path: string): Promise<string> {
    if (path === '-') return textOf(this.#streams.stdin)
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      throw new CommandFailed(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
    }
  }

  /** Only line feeds end a line; `readline` also splits at characters that JSON does not escape. */
  async *lines(path: string): AsyncGenerator<string> {
    const source = path === '-' ? this.#streams.stdin : createReadStream(path)
    const decoder = new StringDecoder('utf8')
    let rest = ''
    try {
      for await (const chunk of source) {
        const lines = (rest + decoder.write(chunk)).split('\n')
        rest = lines.pop()!
        yield* lines
      }
    } catch (error) {
      throw new CommandFailed(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
    }
    rest += decoder.end()
    if (rest !== '') yield rest
  }

  admin(): Promise<Admin> {
    this.#admin ??= adminFor(this)
    return this.#admin
  }

  write(text: string): void {
    this.#streams.stdout.write(text)
  }

  progress(line: string): void {
    if (!this.has('json') && this.stderr.isTTY) this.stderr.write(`${line}\n`)
  }

  async close(): Promise<void> {
    await (await this.#admin)?.close()
  }
}

async function outcomeOf(call: Running, { command }: Parsed): Promise<CommandResult> {
  try {
    return await command.run(call)
  } finally {
    await call.close()
  }
}

/** One line, whatever was thrown. */
function lineOf(error: unknown): string {
  if (error instanceof Fault) return String(error.detail.reason ?? error.message)
  return error instanceof Error ? error.message.split('\n')[0]! : String(error)
}

/** Called by the completion scripts: prints one candidate per line, its description after a tab. */
const COMPLETE = '__complete'

async function completed(
  words: readonly string[],
  commands: readonly Command[],
  env: NodeJS.ProcessEnv,
): Promise<string[]> {
  const where = ({ flags }: Before) => ({
    env,
    flag: (name: string) => flags.get(name) || env[variable(name)] || undefined,
    progress: () => {},
  })
  const found = await complete(words, commands, namesFor(where))
  return found.map(({ word, summary }) => `${escapeControls(word)}\t${escapeControls(summary)}`)
}

/** Resolves to the exit code. */
export async function run(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  streams: CommandStreams = process,
): Promise<number> {
  const style = terminalStyle(streams.stdout.isTTY === true, env)
  const commands = commandTable(style)
  const print = (text: string): void => void streams.stdout.write(`${text}\n`)
  if (words[0] === COMPLETE) {
    for (const line of await completed(words.slice(1), commands, env)) print(line)
    return 0
  }
  try {
    const parsed = parse(words, commands, style)
    const { value, text, code = 0 } = await outcomeOf(new Running(parsed, env, streams), parsed)
    const asJson = parsed.values.get('json') === true && value !== undefined
    const output = asJson ? JSON.stringify(value, undefined, 2) : text
    if (output !== '') print(output)
    return code
  } catch (error) {
    if (error instanceof HelpRequested) {
      print(error.message)
      return 0
    }
    streams.stderr.write(`holdfast: ${lineOf(error)}\n`)
    return USAGE_ERRORS.some(kind => error instanceof kind) ? EXIT_USAGE : EXIT_FAILED
  }
}
