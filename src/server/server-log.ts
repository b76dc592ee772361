/** The log of a server process, on standard error: text on a terminal, JSON otherwise, unless a format was chosen. */
import type { Config } from './config.ts'
import { type LogRecord, type Render, renderJsonLine, renderLine, renderTextLine, timestamp } from './log-format.ts'
import { LogLines } from './log-lines.ts'

export interface LogStream {
  readonly isTTY?: boolean
  write(text: string): unknown
}

export class ServerLog {
  readonly #stream: LogStream
  readonly #lines: LogLines
  readonly #isTerminal: boolean
  readonly #text: Render
  #render: Render

  constructor(stream: LogStream, env: NodeJS.ProcessEnv) {
    this.#stream = stream
    this.#lines = new LogLines(text => void stream.write(text))
    this.#isTerminal = stream.isTTY === true
    this.#text = renderTextLine(this.#isTerminal && !env.NO_COLOR && env.TERM !== 'dumb')
    this.#render = this.#isTerminal ? this.#text : renderJsonLine
  }

  /** Applies the configured format, which is unknown before. */
  use({ logFormat }: Pick<Config, 'logFormat'>): void {
    const isText = logFormat === 'auto' ? this.#isTerminal : logFormat === 'text'
    this.#render = isText ? this.#text : renderJsonLine
  }

  write(record: LogRecord): void {
    this.#lines.add(renderLine(record, timestamp(Date.now()), this.#render))
    // The process may be about to exit after an error.
    if (record.level === 'error') this.#lines.flush()
  }

  /** A notice to the operator outside the log format. */
  notice(line: string): void {
    this.#lines.flush()
    this.#stream.write(`holdfast: ${line}\n`)
  }

  flush(): void {
    this.#lines.flush()
  }
}
