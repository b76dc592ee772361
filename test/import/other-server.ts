/** A third-party S3 server that runs until it is stopped. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export interface Running {
  readonly url: string
  readonly version: string
  stop(): Promise<unknown>
}

export interface Program {
  readonly program: string
  args(address: string): readonly string[]
  readonly env: NodeJS.ProcessEnv
}

const READY_MS_MAX = 60_000
const POLL_MS = 50
const SAID_MAX = 2_000

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const isListening = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    const settle = (is: boolean) => (): void => {
      socket.destroy()
      resolve(is)
    }
    socket.once('connect', settle(true)).once('error', settle(false))
  })

/** Ends with this process at the latest. */
export function ending(child: ChildProcess): () => Promise<unknown> {
  const ended = once(child, 'exit')
  const endWithUs = (): boolean => child.kill('SIGKILL')
  process.once('exit', endWithUs)
  return async () => {
    child.kill('SIGTERM')
    await ended
    process.removeListener('exit', endWithUs)
  }
}

export async function startOnFreePort({ program, args, env }: Program): Promise<Running> {
  const address = `127.0.0.1:${await freePort()}`
  const { PATH = '' } = process.env
  const child = spawn(program, args(address), { env: { PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      said = (said + String(chunk)).slice(-SAID_MAX)
    })
  }
  const failed = new Promise<never>((_, reject) => {
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${program} ended with ${code}: ${said}`)))
  })
  const stop = ending(child)
  const until = Date.now() + READY_MS_MAX
  const ready = async (): Promise<void> => {
    while (!(await isListening(Number(address.split(':')[1])))) {
      if (Date.now() > until) throw new Error(`${program} was not ready in time: ${said}`)
      await wait(POLL_MS)
    }
  }
  await Promise.race([ready(), failed])
  failed.catch(() => {})
  return { url: `http://${address}`, version: '', stop }
}
