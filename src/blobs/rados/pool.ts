/** A connection to one pool of a Ceph cluster, and the objects in its namespaces. */
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import type { BlobCapacity } from '../blobs.ts'
import type { RadosAddress } from './address.ts'
import { Completions } from './completions.ts'
import { type Librados, loadLibrados, type Pointer, radosError } from './librados.ts'
import { RadosNamespace } from './namespace.ts'
import type { ObjectPool } from './rados-disk.ts'

/** Without a limit, operations on a placement group that has too few copies wait for ever. */
const TIMEOUT_SECONDS = '60'
const TIMEOUT_OPTIONS = ['rados_osd_op_timeout', 'rados_mon_op_timeout', 'client_mount_timeout'] as const
const OPTION_BYTES_MAX = 256

function check(result: number, what: string): void {
  if (result < 0) throw radosError(result, what)
}

/** The configuration may set limits of its own; zero means none. */
function limitTimeouts(librados: Librados, cluster: Pointer): void {
  for (const option of TIMEOUT_OPTIONS) {
    const value = Buffer.alloc(OPTION_BYTES_MAX)
    check(librados.rados_conf_get(cluster, option, value, value.length), `option ${option}`)
    const isUnlimited = Number.parseFloat(value.toString('latin1')) === 0
    const isPreset = option === 'client_mount_timeout'
    if (isUnlimited || isPreset) check(librados.rados_conf_set(cluster, option, TIMEOUT_SECONDS), `option ${option}`)
  }
}

interface PoolStatistics {
  readonly name: string
  readonly stats: { readonly stored: number; readonly max_avail: number; readonly quota_bytes: number }
}

export interface PoolCopies {
  readonly size: number
  readonly minSize: number
}

export class RadosPool implements ObjectPool {
  readonly #librados: Librados
  readonly #cluster: Pointer
  readonly #pool: string
  readonly #completions: Completions
  readonly #contexts: Pointer[] = []
  #closing: Promise<void> | undefined

  private constructor(librados: Librados, cluster: Pointer, pool: string) {
    this.#librados = librados
    this.#cluster = cluster
    this.#pool = pool
    this.#completions = new Completions(librados)
  }

  static async connect({ pool, user, conf }: RadosAddress): Promise<RadosPool> {
    const librados = await loadLibrados()
    const out: [Pointer] = [null]
    check(librados.rados_create2(out, 'ceph', `client.${user}`, 0), 'create a client')
    const [cluster] = out
    const opened = new RadosPool(librados, cluster, pool)
    try {
      const file = conf ?? 'the default configuration file'
      check(librados.rados_conf_read_file(cluster, conf ?? null), `read ${file}`)
      limitTimeouts(librados, cluster)
      const what = `connect to the monitors in ${file} as client.${user}`
      check(await opened.#completions.call<number>(what, librados.rados_connect, cluster), what)
      opened.#assertPool()
      return opened
    } catch (error) {
      await opened.close()
      throw error
    }
  }

  /** Fails at the start rather than at the first write. */
  #assertPool(): void {
    try {
      this.namespace('')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      throw new Error(`RADOS: there is no pool ${this.#pool}: create it with ceph osd pool create`)
    }
  }

  namespace(name: string): RadosNamespace {
    const out: [Pointer] = [null]
    check(this.#librados.rados_ioctx_create(this.#cluster, this.#pool, out), `open pool ${this.#pool}`)
    const [io] = out
    this.#contexts.push(io)
    this.#librados.rados_ioctx_set_namespace(io, name)
    return new RadosNamespace(this.#librados, this.#completions, io)
  }

  /** Bytes that clients can still store, after replication and within the quota. */
  async capacity(): Promise<BlobCapacity> {
    const report = await this.#monitorCommand({ prefix: 'df', detail: 'detail', format: 'json' })
    const { pools } = JSON.parse(report) as { readonly pools: readonly PoolStatistics[] }
    const found = pools.find(({ name }) => name === this.#pool)
    if (found === undefined) throw new EngineUnavailable(`RADOS: the monitors report no statistics of ${this.#pool}`)
    const { stored, max_avail: available, quota_bytes: quota } = found.stats
    const freeBytes = quota === 0 ? available : Math.max(0, Math.min(available, quota - stored))
    return { totalBytes: stored + freeBytes, freeBytes }
  }

  /** How many copies of each object there are, and how many a write needs. */
  async copies(): Promise<PoolCopies> {
    const setting = async (name: string): Promise<number> => {
      const given = { prefix: 'osd pool get', pool: this.#pool, var: name, format: 'json' }
      return (JSON.parse(await this.#monitorCommand(given)) as Record<string, number>)[name]!
    }
    return { size: await setting('size'), minSize: await setting('min_size') }
  }

  async #monitorCommand(command: Readonly<Record<string, string>>): Promise<string> {
    const librados = this.#librados
    const [output, outputBytes]: [[Pointer], [number | bigint]] = [[null], [0]]
    const [status, statusBytes]: [[Pointer], [number | bigint]] = [[null], [0]]
    const outs = [output, outputBytes, status, statusBytes]
    const given = [JSON.stringify(command)]
    const what = `command ${command.prefix}`
    const args = [this.#cluster, given, 1, null, 0, ...outs]
    const result = await this.#completions.call<number>(what, librados.rados_mon_command, ...args)
    const text = output[0] === null ? '' : librados.koffi.decode(output[0], 'char', Number(outputBytes[0]))
    for (const pointer of [output[0], status[0]]) if (pointer !== null) librados.rados_buffer_free(pointer)
    check(result, what)
    return text
  }

  /** Waits for operations in flight; later ones are refused. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#completions.close()
    for (const io of this.#contexts.splice(0)) this.#librados.rados_ioctx_destroy(io)
    await new Promise<void>(resolve => this.#librados.rados_shutdown.async(this.#cluster, () => resolve()))
  }
}
