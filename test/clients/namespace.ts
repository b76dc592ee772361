/** A network namespace with its own hosts file, joined to this one by a pair of interfaces. Needs root. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { run } from './command.ts'
import { onPath, Unavailable } from './install.ts'
import { FOR_INSTALLING } from './world.ts'

const env = FOR_INSTALLING
const ip = (...args: string[]): Promise<string> => run('ip', args, { env })

export class Namespace {
  readonly #name: string
  readonly #endWithUs: () => void

  private constructor(name: string) {
    this.#name = name
    this.#endWithUs = () => {
      spawnSync('ip', ['netns', 'del', name], { stdio: 'ignore' })
      rmSync(this.#folder, { recursive: true, force: true })
    }
    // It must not outlive this program, however that ends.
    process.once('exit', this.#endWithUs)
  }

  /** `ip netns exec` mounts these files over those in /etc. */
  get #folder(): string {
    return join('/etc/netns', this.#name)
  }

  /** A namespace in which this machine has the given host name. */
  static async open(host: string): Promise<Namespace> {
    if (process.getuid?.() !== 0 || (await onPath('ip')) === undefined) {
      throw new Unavailable('a network namespace needs root and iproute2')
    }
    const { pid } = process
    const namespace = new Namespace(`holdfast-${pid}`)
    // From the range reserved for tests; concurrent runs get different ones.
    const net = `198.18.${(pid >> 6) & 255}`
    const [here, there] = [`${net}.${((pid & 63) << 2) + 1}`, `${net}.${((pid & 63) << 2) + 2}`]
    try {
      await namespace.#join(here, there, host)
      return namespace
    } catch (error) {
      await namespace.close()
      throw new Unavailable(`no network namespace: ${(error as Error).message.split('\n').at(-1)}`)
    }
  }

  async #join(here: string, there: string, host: string): Promise<void> {
    const name = this.#name
    const [outside, inside] = [`hf${process.pid}a`, `hf${process.pid}b`]
    await ip('netns', 'add', name)
    await ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', inside, 'netns', name)
    await ip('addr', 'add', `${here}/30`, 'dev', outside)
    await ip('link', 'set', outside, 'up')
    await ip('-n', name, 'addr', 'add', `${there}/30`, 'dev', inside)
    await ip('-n', name, 'link', 'set', inside, 'up')
    await mkdir(this.#folder, { recursive: true })
    await writeFile(join(this.#folder, 'hosts'), `${here} ${host}\n`)
  }

  run(command: readonly string[], environment: Readonly<Record<string, string>>): Promise<string> {
    return run('ip', ['netns', 'exec', this.#name, ...command], { env: environment })
  }

  /** The pair of interfaces is removed with it. */
  async close(): Promise<void> {
    process.removeListener('exit', this.#endWithUs)
    await ip('netns', 'del', this.#name).catch(() => {})
    await rm(this.#folder, { recursive: true, force: true })
  }
}
