/** One declaration says everything about a command: parsing, help and completion are made from it. */
import type { Admin } from './admin.ts'

export interface Argument {
  readonly name: string
  readonly meaning: string
  readonly optional?: true
}

export interface Flag {
  readonly name: string
  /** What stands behind it; a switch without. */
  readonly value?: string
  readonly meaning: string
  /** Also taken from the variable of its name. */
  readonly fromEnvironment?: true
}

export interface CommandResult {
  /** What `--json` prints; undefined when everything is said already. */
  readonly value: unknown
  /** What a person reads. */
  readonly text: string
  /** 1: it was looked for something wrong, and found. */
  readonly code?: 0 | 1
}

/** Where a command's text goes. A terminal gets colours and progress. */
export interface CommandOutput {
  readonly isTTY?: boolean
  write(text: string): unknown
}

/** The standard streams of the process, or those of an embedding program. */
export interface CommandStreams {
  readonly stdin: AsyncIterable<Buffer | string>
  readonly stdout: CommandOutput
  readonly stderr: CommandOutput
}

export interface Invocation {
  argument(name: string): string
  maybeArgument(name: string): string | undefined
  flag(name: string): string | undefined
  has(name: string): boolean
  readonly env: NodeJS.ProcessEnv
  /** The text of a file; `-` is standard input. */
  read(path: string): Promise<string>
  /** The admin API, of a server or in the folder itself; closed when the command ends. */
  admin(): Promise<Admin>
  /** Straight to standard output, for what may be long. */
  write(text: string): void
  /** Lines for a person while the command runs; `--json` keeps them back. */
  progress(line: string): void
  readonly stderr: CommandOutput
}

export interface Command {
  /** One or two words. */
  readonly name: string
  readonly summary: string
  readonly arguments: readonly Argument[]
  readonly flags: readonly Flag[]
  /** Whole commands without the program's name, as help prints them. */
  readonly examples: readonly string[]
  run(call: Invocation): Promise<CommandResult>
}

interface Declared extends Omit<Command, 'arguments' | 'flags' | 'examples'> {
  readonly arguments?: readonly Argument[]
  readonly flags?: readonly Flag[]
  readonly examples?: readonly string[]
}

export function command({ arguments: args = [], flags = [], examples, ...rest }: Declared): Command {
  return { ...rest, arguments: args, flags, examples: examples ?? [rest.name] }
}

/** What every command knows. */
export const COMMON_FLAGS: readonly Flag[] = [
  { name: 'json', meaning: 'print JSON' },
  { name: 'help', meaning: 'print what the command takes' },
]

const FOLDER_FLAGS: readonly Flag[] = [
  { name: 'data', value: 'DIR', meaning: 'the data folder (./data)', fromEnvironment: true },
  { name: 'meta', value: 'URL', meaning: 'where its metadata live, when not in the folder', fromEnvironment: true },
  { name: 'blobs', value: 'DIR', meaning: 'where its bytes live, when not in the folder', fromEnvironment: true },
]

const SERVER_FLAGS: readonly Flag[] = [
  { name: 'endpoint', value: 'URL', meaning: "a server's console, instead of a folder", fromEnvironment: true },
  { name: 'region', value: 'NAME', meaning: "the server's region (us-east-1)", fromEnvironment: true },
  { name: 'ca', value: 'FILE', meaning: 'certificate that the console is trusted by', fromEnvironment: true },
  ...FOLDER_FLAGS,
]

/** A command of the admin API: through a server, or in the folder itself when none runs. */
export const onServer = (declared: Declared): Command =>
  command({ ...declared, flags: [...(declared.flags ?? []), ...SERVER_FLAGS] })

/** A command that needs the folder for itself. */
export const onFolder = (declared: Declared): Command =>
  command({ ...declared, flags: [...(declared.flags ?? []), ...FOLDER_FLAGS] })
