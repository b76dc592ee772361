/**
 * The journal of a writer process: each operation before it is started and after it is acknowledged. Written with one
 * system call per line to a file on another filesystem than the one under test, so that a kill loses no line.
 */
import { openSync, readFileSync, writeSync } from 'node:fs'
import type { Expectation, Operation } from './model.ts'

type Line =
  | { readonly n: number; readonly begin: Operation }
  | { readonly n: number; readonly done: string }
  | { readonly n: number; readonly refused: string }
  | { readonly n: number; readonly failed: string }

export class Journal {
  readonly #file: number
  #count = 0

  constructor(path: string) {
    this.#file = openSync(path, 'a')
  }

  begin(operation: Operation): number {
    const n = this.#count++
    this.#write({ n, begin: operation })
    return n
  }

  done(n: number, id: string): void {
    this.#write({ n, done: id })
  }

  refused(n: number, code: string): void {
    this.#write({ n, refused: code })
  }

  failed(n: number, error: unknown): void {
    this.#write({ n, failed: String(error) })
  }

  #write(line: Line): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
  }
}

/** Applies a journal to the expectation; returns the failures that the writer met. */
export function replayJournal(path: string, expectation: Expectation): readonly string[] {
  const open = new Map<number, Operation>()
  const failures: string[] = []
  const lines = readFileSync(path, 'utf8').split('\n')
  // A last line without a line feed was truncated by the kill and does not count.
  for (const text of lines.slice(0, -1)) {
    const line = JSON.parse(text) as Line
    if ('begin' in line) {
      open.set(line.n, line.begin)
      expectation.begin(line.begin)
      continue
    }
    const operation = open.get(line.n)!
    if ('done' in line) expectation.acknowledge(operation, line.done)
    else if ('refused' in line) expectation.refuse(operation)
    else failures.push(`${operation.kind} ${operation.to.bucket}/${operation.to.key}: ${line.failed}`)
  }
  return failures
}
