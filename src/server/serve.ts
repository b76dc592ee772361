/** Serves a data folder: from this process alone, or from several that it starts and looks after. */

import type { Certificate } from '../http/listen.ts'
import { realDisk } from '../lib/disk.ts'
import { relaxCollector } from '../lib/runtime.ts'
import { IdentityCache } from '../store/identity/identity-cache.ts'
import { merged, type Sample } from '../telemetry/families.ts'
import { ProcessMetrics } from '../telemetry/process-metrics.ts'
import { StoreMetrics } from '../telemetry/store-metrics.ts'
import { Capacity } from './capacity.ts'
import type { Config } from './config.ts'
import { DiskWatch } from './disk-watch.ts'
import { atLeast, type Log } from './log.ts'
import { Maintenance, maintenanceTasks, sweepTask, usageTask } from './maintenance.ts'
import { certificateWarning, findPort, readCertificate, renewedCertificate } from './network.ts'
import { serveObjects } from './object-server.ts'
import { openAdmin, urlOf } from './open-admin.ts'
import { prepare } from './prepare.ts'
import { checkRuntime } from './runtime-check.ts'
import { copyTask } from './second-copy.ts'
import { WorkerPool } from './worker-pool.ts'

export interface RunningServer {
  readonly url: string
  /** `off` when there is none. */
  readonly consoleUrl: string
  /** Reads the certificate's files again, and opens the audit log anew. */
  reload(): Promise<void>
  close(): Promise<void>
}

export function serve(config: Config, everything: Log): Promise<RunningServer> {
  relaxCollector()
  const tell = atLeast(config.logLevel, everything)
  return config.workers === 1 ? serveAlone(config, tell) : supervise(config, tell)
}

/** As much of a start as can fail before the data folder is touched. */
async function certificateToServe(config: Config, tell: Log): Promise<Certificate | undefined> {
  const certificate = await readCertificate(config)
  await refuseUnsafeRuntime(certificate, tell)
  const message = certificateWarning(config, certificate)
  if (message !== undefined) tell.log({ level: 'warn', message })
  return certificate
}

async function refuseUnsafeRuntime(certificate: Certificate | undefined, tell: Log): Promise<void> {
  if (await checkRuntime(certificate)) return
  const message = 'no loopback address to check on that answers which break off are never taken for complete ones'
  tell.log({ level: 'warn', message })
}

async function serveAlone(config: Config, tell: Log): Promise<RunningServer> {
  const certificate = await certificateToServe(config, tell)
  const { folder, rootKey, samples } = await prepare(config, tell)
  const { store } = folder
  /** What has been started, the last first: it ends with the start that fails. */
  const ends: (() => Promise<void>)[] = [() => folder.close()]
  try {
    const given = { config, rootKey, certificate, role: 'server' as const }
    const objects = await serveObjects(store, { ...given, port: config.listen.port }, tell)
    ends.unshift(() => objects.close())
    const directory = new IdentityCache(store.context, rootKey)
    const watch = new DiskWatch(realDisk, config, tell)
    const capacity = new Capacity(config, certificate, () => true)
    const counting = [...maintenanceTasks(store, tell), usageTask(folder), sweepTask(store)]
    const copying = copyTask(folder.copy, store.context, tell)
    const upkeep = new Maintenance([...watch.chores(), ...counting, ...copying], tell)
    ends.unshift(() => upkeep.stop())
    const kept = new StoreMetrics(store.context)
    const measure = async (): Promise<Sample[]> =>
      merged([...samples, ...(await objects.samples()), ...(await kept.samples()), ...upkeep.samples()])
    const shown = { certificate, isServing: () => true, isDiskFull: () => watch.isFull, measure, capacity }
    const console = await openAdmin(config, { store, snapshot: folder.snapshot, directory, ...shown }, tell)
    return {
      url: urlOf(certificate === undefined ? 'http' : 'https', objects.address),
      consoleUrl: console?.url ?? 'off',
      async reload() {
        objects.reopen()
        console?.reopen()
        const renewed = await renewedCertificate(config)
        if (renewed === undefined) return
        capacity.certificate = renewed
        await objects.renew(renewed)
        await console?.renew(renewed)
      },
      async close() {
        await objects.close()
        await console?.close()
        await upkeep.stop()
        await folder.close()
      },
    }
  } catch (error) {
    for (const end of ends) await end()
    throw error
  }
}

/** The supervisor owns the folder, does its upkeep and has the console; objects are served by its workers alone. */
async function supervise(config: Config, tell: Log): Promise<RunningServer> {
  let certificate = await certificateToServe(config, tell)
  const crew = new WorkerPool()
  const { folder, rootKey, samples } = await prepare(config, tell, crew)
  const { store, epoch, copy } = folder
  const generation = copy?.journal.generation
  const here = new ProcessMetrics('supervisor', realDisk)
  let upkeep: Maintenance | undefined
  try {
    const address = await findPort(config.listen)
    const sweeping = sweepTask(store)
    await crew.start(config.workers, {
      tell,
      admit: writer => folder.admit(writer),
      dismiss: writer => folder.dismiss(writer),
      assignment: writer => ({
        ...{ config, rootKey, certificate, port: address.port },
        ...{ role: 'worker', epoch, generation, writer },
      }),
      silenceMsMax: config.workerTimeoutMs,
      onDeath: () => upkeep?.wake(sweeping),
    })
    const directory = new IdentityCache(store.context, rootKey)
    const isServing = (): boolean => crew.isListening
    const watch = new DiskWatch(realDisk, config, tell)
    const capacity = new Capacity(config, certificate, isServing)
    const copying = copyTask(copy, store.context, tell)
    const chores = [...watch.chores(), ...maintenanceTasks(store, tell), usageTask(folder), sweeping, ...copying]
    const tended = new Maintenance(chores, tell)
    upkeep = tended
    const kept = new StoreMetrics(store.context)
    const measure = async (): Promise<Sample[]> => {
      const own = [...samples, ...(await here.samples()), ...(await kept.samples()), ...tended.samples()]
      return merged([...own, ...(await crew.samples())])
    }
    const shown = { certificate, isServing, isDiskFull: () => watch.isFull, measure, capacity }
    const console = await openAdmin(config, { store, snapshot: folder.snapshot, directory, ...shown }, tell)
    return {
      url: urlOf(certificate === undefined ? 'http' : 'https', address),
      consoleUrl: console?.url ?? 'off',
      async reload() {
        crew.tellAll({ do: 'reopen' })
        console?.reopen()
        certificate = await renewedCertificate(config)
        if (certificate === undefined) return
        capacity.certificate = certificate
        crew.tellAll({ do: 'renew', certificate })
        await console?.renew(certificate)
      },
      async close() {
        await crew.stop()
        await console?.close()
        here.stop()
        await tended.stop()
        await folder.close()
      },
    }
  } catch (error) {
    await crew.abort()
    here.stop()
    await upkeep?.stop()
    await folder.close()
    throw error
  }
}
