/**
 * A network for one run: a bridge with an address for the database and one for the blobs, and a namespace of its own
 * for every gateway. `run.sh` starts this process in network, mount and process namespaces of its own, so that
 * everything ends with it and no name or port of this machine is taken.
 */
import { runTool } from '../ceph/daemon.ts'

/** From the range that is reserved for tests of networks. */
const addressOf = (last: number): string => `198.18.0.${last}`
const CLIENTS = addressOf(1)
export const DATABASE = addressOf(2)
export const BLOBS = addressOf(3)
export const EVERY_HOST = `${addressOf(0)}/24`
const FIRST_HOST = 11
const BRIDGE = 'bridge'
const RULES = 'faults'

/** Creates the bridge. Everything in this process's own namespace is behind it. */
export async function createBridge(): Promise<void> {
  await runTool('ip', ['link', 'set', 'lo', 'up'])
  await runTool('ip', ['link', 'add', BRIDGE, 'type', 'bridge'])
  for (const address of [CLIENTS, DATABASE, BLOBS]) {
    await runTool('ip', ['addr', 'add', `${address}/24`, 'dev', BRIDGE])
  }
  await runTool('ip', ['link', 'set', BRIDGE, 'up'])
}

/** Rules that drop everything to and from these addresses. */
function dropping(condition: (direction: 'saddr' | 'daddr') => string): string {
  const chain = (hook: 'input' | 'output', direction: 'saddr' | 'daddr'): string =>
    `chain ${hook} { type filter hook ${hook} priority 0; ${condition(direction)} drop; }`
  return `table inet ${RULES} { ${chain('input', 'saddr')}; ${chain('output', 'daddr')}; }`
}

/** A machine of its own, as far as the network is concerned. */
export class Host {
  readonly name: string
  readonly address: string

  private constructor(name: string, address: string) {
    this.name = name
    this.address = address
  }

  static async create(number: number): Promise<Host> {
    const host = new Host(`host${number}`, addressOf(FIRST_HOST + number))
    const { name, address } = host
    await runTool('ip', ['netns', 'add', name])
    await runTool('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name])
    await runTool('ip', ['link', 'set', name, 'master', BRIDGE, 'up'])
    await runTool('ip', ['-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0'])
    for (const device of ['lo', 'eth0']) await runTool('ip', ['-n', name, 'link', 'set', device, 'up'])
    return host
  }

  /** The command as it runs on this host, under the process id of whatever starts it. */
  command(program: string, args: readonly string[]): [string, string[]] {
    return ['ip', ['netns', 'exec', this.name, program, ...args]]
  }

  /** From now on no packet reaches these addresses or comes from them. */
  async cutOff(addresses: readonly string[]): Promise<void> {
    const rules = dropping(direction => `ip ${direction} { ${addresses.join(', ')} }`)
    await runTool(...this.command('nft', [rules]))
  }

  async reconnect(): Promise<void> {
    await runTool(...this.command('nft', ['delete', 'table', 'inet', RULES]))
  }
}
