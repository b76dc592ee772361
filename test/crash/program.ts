/** Child processes: scripts in this folder, read line by line, killed by their id. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const STDERR_CHARACTERS_MAX = 4000

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
}

export class Program {
  readonly #child: ChildProcess
  readonly ended: Promise<Ending>
  readonly #lines: string[] = []
  readonly #waiting = new Map<string, () => void>()
  #next: ((line: string) => void) | undefined
  #stderr = ''
  hasEnded = false

  /** `name` is a file in this folder, with the same extension as this one. */
  constructor(name: string, args: readonly string[]) {
    const path = fileURLToPath(import.meta.url.replace(/program(\.\w+)$/, `${name}$1`))
    this.#child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stdin!.on('error', () => {})
    this.#child.stderr!.on('data', text => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_CHARACTERS_MAX)
    })
    createInterface({ input: this.#child.stdout! }).on('line', line => {
      this.#lines.push(line)
      this.#waiting.get(line)?.()
      this.#next?.(line)
      this.#next = undefined
    })
    this.ended = once(this.#child, 'close').then(([code, signal]) => {
      this.hasEnded = true
      return { code, signal, stderr: this.#stderr }
    })
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  send(line: string): void {
    this.#child.stdin!.write(`${line}\n`)
  }

  /** Resolves when the program has printed this line, or has exited without. */
  async said(line: string): Promise<void> {
    if (this.#lines.includes(line)) return
    await Promise.race([new Promise<void>(resolve => this.#waiting.set(line, resolve)), this.ended])
  }

  /** The next line it prints; undefined when it exits without. */
  nextLine(): Promise<string | undefined> {
    const line = new Promise<string>(resolve => {
      this.#next = resolve
    })
    return Promise.race([line, this.ended.then(() => undefined)])
  }

  kill(): Promise<Ending> {
    this.#child.kill('SIGKILL')
    return this.ended
  }
}
