/** Where the audit log is written: a file, opened again when somebody has moved it away, or standard output. */
import { closeSync, openSync, writeSync } from 'node:fs'
import { systemClock } from '../lib/clock.ts'
import { AuditLog, type AuditSink } from '../telemetry/audit-log.ts'
import type { Log } from './log.ts'

/** For `--audit-log`. */
export const STANDARD_OUTPUT = '-'
const STDOUT_FD = 1
/** As many as a request can name objects, with two permissions each. */
const IN_FILE_MAX = 2000
/** Processes share a pipe: lines beyond 4 KiB could get mixed. */
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

  /** To its end, whoever else writes there: each line is one write. */
  #open(): number {
    return this.#path === STANDARD_OUTPUT ? STDOUT_FD : openSync(this.#path, 'a', 0o600)
  }

  write(line: string): void {
    const bytes = Buffer.from(line)
    const written = writeSync(this.#fd, bytes)
    if (written !== bytes.length) throw new Error(`the audit log took ${written} of ${bytes.length} bytes`)
  }

  /** The old one stays if the new one cannot be had. */
  reopen(): void {
    const before = this.#fd
    this.#fd = this.#open()
    if (before !== STDOUT_FD) closeSync(before)
  }

  close(): void {
    if (this.#fd !== STDOUT_FD) closeSync(this.#fd)
  }
}

export interface OpenAudit {
  readonly log: AuditLog
  reopen(): void
  close(): void
}

export function openAudit(path: string | undefined, tell: Log): OpenAudit | undefined {
  if (path === undefined) return undefined
  const file = new AuditFile(path)
  const log = new AuditLog(file, systemClock, error => tell.log({ level: 'error', audit: String(error) }))
  return { log, reopen: () => file.reopen(), close: () => file.close() }
}
