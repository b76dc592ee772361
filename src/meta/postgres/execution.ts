/**
 * One execution of a prepared statement on a connection of `pg`. The client hands the connection to `submit` and calls
 * the handlers; rows come past the client, from the connection's messages. Columns are not asked for: a statement knows
 * the types of its own.
 */
import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { type BinaryValue, runMessages } from './bind-message.ts'
import { RowReader } from './row-reader.ts'

export interface PreparedStatement<T> {
  /** Empty: not kept by the server. */
  readonly name: string
  readonly text: string
  readonly values: readonly BinaryValue[]
  /** Instead of the limit for commits. */
  readonly timeoutMs?: number
  readonly decode: (row: RowReader) => T
}

/** The part of a connection of `pg` that is used. */
export interface PgConnection {
  readonly stream: Duplex
  /** Text by name, of statements that the server knows. */
  readonly parsedStatements: Readonly<Record<string, string>>
  parse(statement: { readonly name: string; readonly text: string }): void
  emit(event: string, argument: unknown): boolean
  /** Called for the stream that carries messages, which TLS replaces. */
  attachListeners(stream: EventEmitter): void
}

/** Receives the rows of the statement that runs on its connection. */
export interface RowTarget {
  execution: { row(bytes: Buffer, start: number, end: number): void } | undefined
}

const reader = new RowReader()

export class Execution<T> {
  readonly name: string
  readonly text: string
  readonly query_timeout: number | undefined
  /** Replaced by the client, to end its time limit. */
  callback: (error: unknown, rows?: readonly T[]) => void
  readonly #statement: PreparedStatement<T>
  readonly #target: RowTarget
  readonly #rows: T[] = []
  #failure: unknown

  constructor(statement: PreparedStatement<T>, target: RowTarget, callback: Execution<T>['callback']) {
    this.name = statement.name
    this.text = statement.text
    this.query_timeout = statement.timeoutMs
    this.callback = callback
    this.#statement = statement
    this.#target = target
  }

  /** Called when all earlier statements are done. */
  submit(connection: PgConnection): void {
    this.#target.execution = this
    const { name, text, values } = this.#statement
    const { stream } = connection
    const isPrepared = name !== '' && connection.parsedStatements[name] === text
    if (!isPrepared) {
      stream.cork()
      connection.parse({ name, text })
    }
    // Otherwise the client learns of the connection's end by an event.
    if (stream.writable) stream.write(runMessages(name, values))
    if (!isPrepared) stream.uncork()
  }

  row(bytes: Buffer, start: number, end: number): void {
    if (this.#failure !== undefined) return
    try {
      this.#rows.push(this.#statement.decode(reader.begin(bytes, start, end)))
    } catch (error) {
      this.#failure = error
    }
  }

  handleReadyForQuery(): void {
    this.#target.execution = undefined
    if (this.#failure === undefined) this.callback(null, this.#rows)
    else this.callback(this.#failure)
  }

  handleError(error: unknown): void {
    if (this.#target.execution === this) this.#target.execution = undefined
    this.callback(error)
  }

  /** A row that reaches the client was not taken from its stream: the internals of `pg` have changed. */
  handleDataRow(): void {
    this.#failure ??= new Error('a row was read by pg')
  }

  handleCommandComplete(): void {}
}
