/** Writes the audit log to a file, which is reopened after rotation, or to standard output. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { systemClock } from '../lib/clock.ts'
import { AuditLog, type AuditSink } from '../telemetry/audit-log.ts'
import type { Logger } from './log.ts'

/** The value of `--audit-log` for standard output. */
const STANDARD_OUTPUT = '-'
const STDOUT_FD = 1
/** A request names at most 1000 objects, with two permissions each. */
const IN_FILE_MAX = 2000
/** Processes share a pipe, in which lines beyond 4 KiB could be interleaved. */
const IN_PIPE_MAX = 8

export class AuditFile implements AuditSink {
  readonly findingsMax: number
  readonly #path: string
  #fd: number

  constructor(path: string) {
    this.#path = path
    this.findingsMax = path === STANDARD_OUTPUT ? IN_PIPE_MAX : IN_FILE_MAX
    this.#fd = this.#open()
  }

  /** Opened for appending: each line is one write, so processes can share the file. */
  #open(): number {
    return this.#path === STANDARD_OUTPUT ? STDOUT_FD : openSync(this.#path, 'a', 0o600)
  }

  write(line: string): void {
    const bytes = Buffer.from(line)
    const written = writeSync(this.#fd, bytes)
    if (written !== bytes.length)
      throw new Error(`only ${written} of ${bytes.length} bytes of an audit line were written`)
  }

  /** Keeps the old file if the new one cannot be opened. */
  reopen(): void {
    const before = this.#fd
    this.#fd = this.#open()
    if (before !== STDOUT_FD) closeSync(before)
  }

  close(): void {
    if (this.#fd !== STDOUT_FD) closeSync(this.#fd)
  }
}

interface OpenAudit {
  readonly log: AuditLog
  /** Never throws: without a new file, the old one stays in use. */
  reopen(): void
  close(): void
}

export function openAudit(path: string | undefined, logger: Logger): OpenAudit | undefined {
  if (path === undefined) return undefined
  const file = new AuditFile(path)
  const onError = (error: unknown): void => logger.log({ level: 'error', audit: String(error) })
  return {
    log: new AuditLog(file, systemClock, onError),
    // The same signal renews the certificate, which must not depend on this file.
    reopen() {
      try {
        file.reopen()
      } catch (error) {
        onError(error)
      }
    },
    close: () => file.close(),
  }
}
