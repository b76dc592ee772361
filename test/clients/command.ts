/** Runs other programs to their end: with a timeout, killed by process group, output shown only on failure. */
import { spawn } from 'node:child_process'

export interface Command {
  readonly cwd?: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

export class CommandFailed extends Error {}

const running = new Set<number>()
// The children must not outlive this program, however it ends.
process.on('exit', () => running.forEach(endGroup))

const TIMEOUT_MS = 300_000
const SHOWN_MAX = 4_000

/** Returns standard output. Throws with the last output when the program does not exit with 0 in time. */
export function run(command: string, args: readonly string[], { cwd, env, timeoutMs }: Command): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...args], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    if (child.pid !== undefined) running.add(child.pid)
    const chunks: Buffer[] = []
    const heard: Buffer[] = []
    child.stdout.on('data', chunk => chunks.push(chunk) && heard.push(chunk))
    child.stderr.on('data', chunk => heard.push(chunk))
    let late = false
    const timer = setTimeout(() => {
      late = true
      endGroup(child.pid)
    }, timeoutMs ?? TIMEOUT_MS)
    const fail = (why: string): void => {
      const said = Buffer.concat(heard).toString('utf8').trim().slice(-SHOWN_MAX)
      reject(new CommandFailed(`${command} ${args.join(' ')}: ${why}\n${said}`))
    }
    child.on('error', error => {
      clearTimeout(timer)
      fail(error.message)
    })
    child.on('close', (code, signal) => {
      running.delete(child.pid ?? 0)
      clearTimeout(timer)
      if (late) fail(`not done after ${timeoutMs ?? TIMEOUT_MS} ms`)
      else if (code !== 0) fail(signal ?? `exit code ${code}`)
      else resolve(Buffer.concat(chunks).toString('utf8'))
    })
  })
}

/** The program and its descendants; it may have exited in the meantime. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
