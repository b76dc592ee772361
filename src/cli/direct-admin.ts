/** The admin API without a server: runs its routes in this process, directly on the data folder. */

import { asCaller } from '../admin/administrator.ts'
import { FsckRound } from '../admin/fsck-round.ts'
import { ADMIN_ROUTES } from '../admin/index.ts'
import { decodeInput } from '../admin/input.ts'
import { type AdminContext, isByteStream, isLineStream } from '../admin/route.ts'
import { ScrubRound } from '../admin/scrub-round.ts'
import { BackupLeases } from '../backup/lease.ts'
import { ServerBackups } from '../backup/server-backup.ts'
import { systemClock } from '../lib/clock.ts'
import { RUNTIME } from '../lib/runtime.ts'
import { ROOT_ACCOUNT_ID } from '../model/account.ts'
import type { ServerParts } from '../server/compose.ts'
import { explain } from '../server/explain.ts'
import { Accounts } from '../store/identity/accounts.ts'
import { IdentityCache, type RootKey } from '../store/identity/identity-cache.ts'
import { VERSION } from '../version.ts'
import { type Admin, type Input, placed } from './admin.ts'

export class DirectAdmin implements Admin {
  readonly #parts: ServerParts
  readonly #directory: IdentityCache
  readonly #scrub: ScrubRound
  readonly #fsck: FsckRound
  readonly #backups: BackupLeases
  readonly #serverBackups: ServerBackups
  readonly #region: string

  /** `root` is the root access key, which routes can show although it has no record. */
  constructor(parts: ServerParts, root: RootKey | undefined, region: string) {
    this.#parts = parts
    this.#directory = new IdentityCache(parts.store.context, root)
    this.#scrub = new ScrubRound(parts.store.context)
    this.#fsck = new FsckRound(parts.store.context, parts.snapshot)
    this.#backups = new BackupLeases(parts.store.context, parts.snapshot)
    this.#serverBackups = new ServerBackups(this.#backups, systemClock, undefined)
    this.#region = region
  }

  async #run(name: string, input: Input): Promise<unknown> {
    const route = ADMIN_ROUTES.byName(name)
    return route.run(await this.#context(), decodeInput(route.input, placed(route, input)))
  }

  async #context(): Promise<AdminContext> {
    const { store } = this.#parts
    const identities = await this.#directory.now()
    const caller = {
      account: identities.byAccountId(ROOT_ACCOUNT_ID)!,
      accessKey: 'command line',
      user: undefined,
    }
    const requestId = store.context.random.bytes(8).toString('hex').toUpperCase()
    return {
      store: asCaller(caller, store, requestId),
      accounts: new Accounts(store.context),
      identities,
      caller,
      isAdministrator: true,
      requestId,
      clock: systemClock,
      region: this.#region,
      scrub: this.#scrub,
      fsck: this.#fsck,
      collectMetrics: async () => this.#scrub.samples(),
      facts: async () => ({ version: VERSION, runtime: RUNTIME, filesystems: [] }),
      backups: this.#backups,
      serverBackups: this.#serverBackups,
      explain: question => explain(store, this.#directory, question),
    }
  }

  async ask(name: string, input: Input = {}): Promise<Record<string, unknown>> {
    // As over HTTP: undefined fields are absent.
    return JSON.parse(JSON.stringify((await this.#run(name, input)) ?? {}))
  }

  async *lines(name: string, input: Input = {}): AsyncIterable<string> {
    const answer = await this.#run(name, input)
    if (isLineStream(answer)) yield* answer.lines
  }

  async *bytes(name: string, input: Input = {}): AsyncIterable<Buffer> {
    const answer = await this.#run(name, input)
    if (isByteStream(answer)) yield* answer.bytes
  }

  async close(): Promise<void> {
    await this.#fsck.close()
    await this.#backups.stop()
    await this.#scrub.stop()
    await this.#parts.close()
  }
}
