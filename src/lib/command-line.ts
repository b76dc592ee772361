/**
 * Commander with the conventions of this program: a mistake is one line that says what to change, nothing is printed
 * and nothing exits the process. `serve` and all other commands read their flags with it.
 */
import { Argument, Command, type ErrorOptions, type HelpContext, Option } from 'commander'
import { suggestion } from './did-you-mean.ts'

export interface FlagDeclaration {
  readonly name: string
  /** Placeholder of its value; a flag without one is a switch. */
  readonly value?: string | undefined
  readonly meaning: string
}

export interface ArgumentDeclaration {
  readonly name: string
  readonly meaning: string
  readonly optional?: true
}

export type FlagValues = ReadonlyMap<string, string | true>

/** The message is one line that says what to change. */
export class CommandLineError extends Error {}

/** `--help` was given: the message is the text to print. */
export class HelpRequested extends Error {}

const quotedIn = (message: string): string => /'([^']*)'/.exec(message)?.[1] ?? ''

export class CommandLine extends Command {
  constructor(name?: string) {
    super(name)
    this.optionsGroup('Flags:')
    this.helpOption('-h, --help', 'print this help')
    this.helpCommand(false)
    // Flags of a command do not reach the commands below it: `backup` and `backup list` have flags of the same name.
    this.enablePositionalOptions()
    // Styles are chosen by the caller, who knows whether the output is a terminal.
    this.configureOutput({ getOutHasColors: () => true })
    this.configureHelp({ optionTerm: ({ flags }) => flags.replaceAll(/[<>]/g, ''), argumentTerm: one => one.name() })
  }

  override createCommand(name?: string): CommandLine {
    return new CommandLine(name)
  }

  withFlags(flags: readonly FlagDeclaration[]): this {
    for (const { name, value, meaning } of flags) {
      this.addOption(new Option(value === undefined ? `--${name}` : `--${name} <${value}>`, meaning))
    }
    return this
  }

  withArguments(declared: readonly ArgumentDeclaration[]): this {
    for (const { name, meaning, optional } of declared) {
      this.addArgument(new Argument(optional ? `[${name}]` : `<${name}>`, meaning))
    }
    return this.usage([...declared.map(({ name, optional }) => (optional ? `[${name}]` : name)), '[flags]'].join(' '))
  }

  /** The flags given on the command line, without defaults. */
  givenFlags(): FlagValues {
    const given = new Map<string, string | true>()
    for (const option of this.options) {
      const attribute = option.attributeName()
      if (this.getOptionValueSource(attribute) !== 'cli') continue
      // The value of `--no-x` is that of `x`, which is false.
      given.set(option.name(), option.negate ? true : (this.getOptionValue(attribute) as string | true))
    }
    return given
  }

  /** For example `holdfast account show ACCOUNT [flags]`. */
  usageLine(): string {
    return this.createHelp().commandUsage(this)
  }

  helpText(): string {
    let text = ''
    this.configureOutput({ writeOut: piece => void (text += piece) })
    super.outputHelp()
    return text.trimEnd()
  }

  /** Commander would answer `acount --help` with the help of the whole program. */
  override outputHelp(): never {
    const [word] = this.args
    const isUnknown = word !== undefined && !word.startsWith('-') && this.registeredArguments.length === 0
    if (this.commands.length === 0 || !isUnknown) throw new HelpRequested(this.helpText())
    throw this.#unknownCommand(word)
  }

  /** The command that the words name, below this one. */
  find(words: readonly string[]): CommandLine {
    return words.reduce((line: CommandLine, word) => {
      const found = line.commands.find(one => one.name() === word)
      if (found === undefined) throw line.#unknownCommand(word)
      return found as CommandLine
    }, this)
  }

  #unknownCommand(word: string): CommandLineError {
    const names = this.commands.map(one => one.name())
    const group = this.parent === null ? '' : `${this.name()} `
    return new CommandLineError(`unknown command: ${group}${word}${suggestion(word, names)}`)
  }

  /** Commander asks for help on standard error when a word is missing behind the name of a group. */
  override help(context?: HelpContext | ((text: string) => string)): never {
    if (typeof context !== 'object' || context.error !== true) return this.outputHelp()
    const names = this.commands.map(one => one.name())
    throw new CommandLineError(`${this.usageLine().split(' COMMAND')[0]} needs one of: ${names.join(', ')}`)
  }

  override error(message: string, options?: ErrorOptions): never {
    throw new CommandLineError(this.#explain(message, options?.code))
  }

  #explain(message: string, code: string | undefined): string {
    const word = quotedIn(message)
    switch (code) {
      case 'commander.unknownOption':
        return this.#unknownFlag(word)
      case 'commander.unknownCommand':
        return this.#unknownCommand(word).message
      case 'commander.optionMissingArgument':
        return word.replace(/ <(.*)>$/, ' needs $1')
      case 'commander.missingArgument':
        return `${word} is missing: ${this.usageLine()}`
      case 'commander.excessArguments':
        return `unexpected argument ${this.args[this.registeredArguments.length]}: ${this.usageLine()}`
      default:
        return message.replace(/^error: /, '').replaceAll('\n', ' ')
    }
  }

  #unknownFlag(word: string): string {
    const flags = this.options.map(({ long }) => long!)
    const [flag, value] = word.split('=', 2)
    if (value !== undefined && flags.includes(flag!)) return `${flag} takes no value`
    return `unknown flag: ${word}${suggestion(word, flags)}`
  }
}
