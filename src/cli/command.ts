/** A command is declared once; parsing, help and completion are derived from the declaration. */
import type { ArgumentDeclaration, FlagDeclaration } from '../lib/command-line.ts'
import type { Admin } from './admin.ts'

export interface Flag extends FlagDeclaration {
  /** Falls back to the environment variable of its name. */
  readonly fromEnvironment?: true
}

export interface CommandResult {
  /** Printed by `--json`; undefined when the command has written its output itself. */
  readonly value: unknown
  /** Printed without `--json`. */
  readonly text: string
  /** 1: the command checked something and found a problem. */
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
  /** The lines of a file, which may be too large to be read as a whole, or of standard input for `-`. */
  lines(path: string): AsyncIterable<string>
  /** The admin API of a running server, or of the store in the data folder; closed when the command ends. */
  admin(): Promise<Admin>
  /** Writes to standard output at once, for long output. */
  write(text: string): void
  /** Reports progress on a terminal; silent with `--json`. */
  progress(line: string): void
  readonly stderr: CommandOutput
}

export interface Command {
  /** One or two words. */
  readonly name: string
  readonly summary: string
  readonly arguments: readonly ArgumentDeclaration[]
  readonly flags: readonly Flag[]
  /** Complete command lines without the program's name; help prints them. */
  readonly examples: readonly string[]
  run(call: Invocation): Promise<CommandResult>
}

interface Declared extends Omit<Command, 'arguments' | 'flags' | 'examples'> {
  readonly arguments?: readonly ArgumentDeclaration[]
  readonly flags?: readonly Flag[]
  readonly examples?: readonly string[]
}

const JSON_FLAG: Flag = { name: 'json', meaning: 'print JSON' }

export function command({ arguments: args = [], flags = [], examples, ...rest }: Declared): Command {
  return { ...rest, arguments: args, flags: [...flags, JSON_FLAG], examples: examples ?? [rest.name] }
}

const FOLDER_FLAGS: readonly Flag[] = [
  { name: 'data', value: 'DIR', meaning: 'data folder (./data)', fromEnvironment: true },
  { name: 'meta', value: 'URL', meaning: 'metadata store, if not in the data folder', fromEnvironment: true },
  { name: 'blobs', value: 'DIR|URL', meaning: 'where the blobs are, if not in the data folder', fromEnvironment: true },
  { name: 'blobs-from', value: 'DIR|URL', meaning: 'where the blobs are moved from', fromEnvironment: true },
  { name: 'cluster', value: 'NAME', meaning: 'the cluster that shares the database', fromEnvironment: true },
  { name: 'cluster-key-file', value: 'FILE', meaning: 'the key of the cluster', fromEnvironment: true },
  { name: 'cluster-key-url', value: 'URL', meaning: 'the key of the cluster as a transit key', fromEnvironment: true },
]

const SERVER_FLAGS: readonly Flag[] = [
  { name: 'endpoint', value: 'URL', meaning: "a server's console, instead of a data folder", fromEnvironment: true },
  { name: 'region', value: 'NAME', meaning: "the server's region (us-east-1)", fromEnvironment: true },
  { name: 'ca', value: 'FILE', meaning: "CA certificate that signed the console's", fromEnvironment: true },
  ...FOLDER_FLAGS,
]

/** A command over the admin API of a running server, or directly on the data folder when no server uses it. */
export const onServer = (declared: Declared): Command =>
  command({ ...declared, flags: [...(declared.flags ?? []), ...SERVER_FLAGS] })

/** A command that needs exclusive use of the data folder. */
export const onFolder = (declared: Declared): Command =>
  command({ ...declared, flags: [...(declared.flags ?? []), ...FOLDER_FLAGS] })
