/** Programs of Ceph: daemons that a test starts and ends by their process ids, and tools that end by themselves. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const STOP_MS = 20_000
const TOOL_MS = 60_000

/** Runs a tool to its end and returns its output. */
export async function runTool(program: string, args: readonly string[]): Promise<string> {
  const options = { timeout: TOOL_MS, killSignal: 'SIGKILL', maxBuffer: 16 * 2 ** 20 } as const
  return (await promisify(execFile)(program, args, options)).stdout
}

/** One daemon in the foreground of its own process; its output goes to a file in the folder. */
export class Daemon {
  readonly name: string
  readonly #process: ChildProcess
  readonly #exited: Promise<void>
  #hasExited = false

  constructor(name: string, program: string, args: readonly string[], folder: string) {
    this.name = name
    const output = openSync(join(folder, `${name}.out`), 'a')
    // The kernel ends the daemon with the test process, even if that crashes.
    const command = ['--pdeathsig', 'KILL', program, ...args]
    this.#process = spawn('setpriv', command, { stdio: ['ignore', output, output] })
    closeSync(output)
    this.#exited = new Promise<void>(resolve => {
      this.#process.once('exit', () => resolve())
      this.#process.once('error', () => resolve())
    }).then(() => {
      this.#hasExited = true
    })
  }

  get pid(): number {
    return this.#process.pid!
  }

  get isRunning(): boolean {
    return !this.#hasExited
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.#hasExited) this.#process.kill(signal)
  }

  /** Ends the daemon; one that does not end in time is killed. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.signal(signal)
    const timer = setTimeout(() => this.signal('SIGKILL'), STOP_MS)
    await this.#exited
    clearTimeout(timer)
  }
}
