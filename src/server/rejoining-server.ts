/**
 * A gateway that goes on after it was expelled. Nothing it holds may be used any more, so everything is closed and
 * opened again under a new membership, in the same process and on the same port.
 */
import type { Config } from './config.ts'
import type { Logger } from './log.ts'
import type { HostAndPort } from './root-key.ts'

export interface RunningServer {
  readonly url: string
  /** `off` when there is none. */
  readonly consoleUrl: string
  /** Rereads the certificate and reopens the audit log. */
  reload(): Promise<void>
  close(): Promise<void>
}

type StartServer = (config: Config, logger: Logger) => Promise<RunningServer>

/** Requests in flight can only fail; if they cannot even do that, the process ends. */
const CLOSE_MS_MAX = 15_000
const PAUSE_MS_MIN = 500
const PAUSE_MS_MAX = 10_000

/** A URL does not name the port 80 or 443, which is never one that was found for port 0. */
const onPortOf = (address: HostAndPort, url: string): HostAndPort =>
  address.port === 0 ? { ...address, port: Number(new URL(url).port) } : address

export class RejoiningServer implements RunningServer {
  readonly url: string
  readonly consoleUrl: string
  readonly #config: Config
  readonly #logger: Logger
  readonly #start: StartServer
  #running: RunningServer | undefined
  #rejoining: Promise<void> | undefined
  #isClosed = false

  private constructor(config: Config, logger: Logger, start: StartServer, running: RunningServer) {
    this.url = running.url
    this.consoleUrl = running.consoleUrl
    // On the ports that clients know by now.
    const { listen, console } = config
    this.#config = {
      ...config,
      listen: onPortOf(listen, running.url),
      console: console && onPortOf(console, running.consoleUrl),
    }
    this.#logger = logger
    this.#start = start
    this.#running = running
  }

  static async start(config: Config, logger: Logger, start: StartServer): Promise<RejoiningServer> {
    const started: { server?: RejoiningServer } = {}
    const abort = (): void => (started.server === undefined ? logger.abort() : started.server.#rejoin())
    started.server = new RejoiningServer(config, logger, start, await start(config, { ...logger, abort }))
    return started.server
  }

  #rejoin(): void {
    if (this.#isClosed) return
    this.#rejoining ??= this.#restart().finally(() => {
      this.#rejoining = undefined
    })
  }

  async #restart(): Promise<void> {
    this.#logger.log({ level: 'warn', message: 'this gateway stops serving and joins the cluster again' })
    const giveUp = setTimeout(() => this.#logger.abort(), CLOSE_MS_MAX)
    await this.#running?.close().catch((error: unknown) => {
      this.#logger.log({ level: 'warn', message: 'closing failed', error: String(error) })
    })
    clearTimeout(giveUp)
    this.#running = undefined
    for (let pause = PAUSE_MS_MIN; !this.#isClosed; pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
      const running = await this.#tryToStart()
      if (running !== undefined) {
        this.#running = running
        this.#logger.log({ level: 'info', message: 'joined the cluster again', url: this.url })
        return
      }
      await new Promise(resolve => setTimeout(resolve, pause))
    }
  }

  /** Undefined when it failed, or was expelled again before it served. */
  async #tryToStart(): Promise<RunningServer | undefined> {
    let [isStarting, isLost] = [true, false]
    const abort = (): void => {
      isLost = true
      if (!isStarting) this.#rejoin()
    }
    try {
      const running = await this.#start(this.#config, { ...this.#logger, abort })
      isStarting = false
      if (!isLost) return running
      await running.close()
    } catch (error) {
      this.#logger.log({ level: 'error', message: 'the cluster could not be joined', error: String(error) })
    }
    return undefined
  }

  async reload(): Promise<void> {
    await this.#running?.reload()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#rejoining
    await this.#running?.close()
  }
}
