/** Serves a data folder from this process alone, or from workers that it supervises. */

import type { ServingProcess } from '../admin/route.ts'
import type { Certificate } from '../http/listen.ts'
import { systemClock } from '../lib/clock.ts'
import { realDisk } from '../lib/disk.ts'
import { optimizeEarly, relaxCollector } from '../lib/runtime.ts'
import { IdentityCache } from '../store/identity/identity-cache.ts'
import { clusterSamples } from '../telemetry/cluster-metrics.ts'
import { mergeSamples, type Sample } from '../telemetry/families.ts'
import { ProcessMetrics } from '../telemetry/process-metrics.ts'
import { StoreMetrics } from '../telemetry/store-metrics.ts'
import { Capacity } from './capacity.ts'
import type { OwnedFolder } from './compose.ts'
import type { Config } from './config.ts'
import { DiskWatch } from './disk-watch.ts'
import { type Logger, withLogLevel } from './log.ts'
import { certificateWarning, findPort, readCertificate, renewedCertificate } from './network.ts'
import { type ObjectServer, serveObjects } from './object-server.ts'
import { openAdmin, urlOf } from './open-admin.ts'
import { prepare } from './prepare.ts'
import { RejoiningServer, type RunningServer } from './rejoining-server.ts'
import { checkRuntime } from './runtime-check.ts'
import { processShown } from './shown-settings.ts'
import { type StoreMaintenance, startMaintenance } from './store-maintenance.ts'
import { WorkerPool } from './worker-pool.ts'

export function serve(config: Config, everything: Logger): Promise<RunningServer> {
  relaxCollector()
  optimizeEarly()
  const logger = withLogLevel(config.logLevel, everything)
  const start = config.workers === 1 ? serveAlone : supervise
  return config.cluster === undefined ? start(config, logger) : RejoiningServer.start(config, logger, start)
}

const membershipSamples = ({ membership, clockWatch, mount }: OwnedFolder): Sample[] =>
  membership === undefined ? [] : clusterSamples(membership, clockWatch?.aheadMs, mount?.late)

async function ownProcess(objects: ObjectServer): Promise<readonly ServingProcess[]> {
  const { pid } = process
  return [processShown(await objects.samples(), { pid, startedAt: performance.timeOrigin, listening: true })]
}

/** The part of a start that can fail before the data folder is touched. */
async function certificateToServe(config: Config, logger: Logger): Promise<Certificate | undefined> {
  const certificate = await readCertificate(config)
  await refuseUnsafeRuntime(certificate, logger)
  const message = certificateWarning(config, certificate)
  if (message !== undefined) logger.log({ level: 'warn', message })
  return certificate
}

async function refuseUnsafeRuntime(certificate: Certificate | undefined, logger: Logger): Promise<void> {
  if (await checkRuntime(certificate)) return
  const message = 'no loopback address is available: aborted responses could not be checked on this runtime'
  logger.log({ level: 'warn', message })
}

async function serveAlone(config: Config, logger: Logger): Promise<RunningServer> {
  const certificate = await certificateToServe(config, logger)
  const { folder, rootKey, samples } = await prepare(config, logger)
  const { store } = folder
  /** Cleanup of a failed start, the last started part first. */
  const ends: (() => Promise<void>)[] = [() => folder.close()]
  try {
    const given = { config, rootKey, certificate, role: 'server' as const }
    const objects = await serveObjects(store, { ...given, port: config.listen.port }, logger)
    ends.unshift(() => objects.close())
    const directory = new IdentityCache(store.context, rootKey)
    const watch = new DiskWatch(realDisk, store.context.blobs, config, logger)
    const capacity = new Capacity(config, store.context.blobs, certificate, () => true)
    const isCluster = config.cluster !== undefined
    const maintenance = startMaintenance({ folder, isCluster, local: watch.tasks() }, logger)
    ends.unshift(() => maintenance.stop())
    const storeMetrics = new StoreMetrics(store.context)
    const collectMetrics = async (): Promise<Sample[]> =>
      mergeSamples([
        ...samples,
        ...(await objects.samples()),
        ...(await storeMetrics.samples()),
        ...membershipSamples(folder),
        ...maintenance.samples(),
      ])
    let isClosing = false
    const processes = () => ownProcess(objects)
    const shown = { certificate, isServing: () => !isClosing, isDiskFull: () => watch.isFull, collectMetrics, capacity }
    const over = { store, snapshot: folder.snapshot, directory, objectPort: objects.address.port, processes, ...shown }
    const admin = await openAdmin(config, over, logger)
    objects.setConsolePort(admin?.port)
    return {
      url: urlOf(certificate === undefined ? 'http' : 'https', objects.address),
      consoleUrl: admin?.url ?? 'off',
      async reload() {
        objects.reopen()
        admin?.reopen()
        const renewed = await renewedCertificate(config)
        if (renewed === undefined) return
        capacity.certificate = renewed
        await objects.renew(renewed)
        await admin?.renew(renewed)
      },
      async close() {
        // Seen by health checks while requests in flight are finished.
        isClosing = true
        await objects.close()
        await admin?.close()
        await maintenance.stop()
        await folder.close()
      },
    }
  } catch (error) {
    for (const end of ends) await end()
    throw error
  }
}

/** The supervisor owns the folder and runs maintenance and the admin server; only workers serve objects. */
async function supervise(config: Config, logger: Logger): Promise<RunningServer> {
  let certificate = await certificateToServe(config, logger)
  const pool = new WorkerPool()
  const { folder, rootKey, samples } = await prepare(config, logger, pool)
  const { store, incarnation, copy } = folder
  const generation = copy?.journal.generation
  const member = folder.membership?.id.toString('hex')
  const processMetrics = new ProcessMetrics('supervisor', realDisk, systemClock)
  let maintenance: StoreMaintenance | undefined
  let consolePort: number | undefined
  try {
    const address = await findPort(config.listen)
    await pool.start(config.workers, {
      logger,
      admit: writer => folder.admit(writer),
      dismiss: writer => folder.dismiss(writer),
      assignment: writer => ({
        ...{ config, rootKey, certificate, port: address.port, consolePort },
        ...{ role: 'worker', incarnation, generation, writer, member },
      }),
      heartbeatTimeoutMs: config.workerTimeoutMs,
      onWorkerExit: () => maintenance?.sweepSoon(),
    })
    const directory = new IdentityCache(store.context, rootKey)
    let isClosing = false
    const isServing = (): boolean => pool.isListening && !isClosing
    const watch = new DiskWatch(realDisk, store.context.blobs, config, logger)
    const capacity = new Capacity(config, store.context.blobs, certificate, isServing)
    const isCluster = config.cluster !== undefined
    const running = startMaintenance({ folder, isCluster, local: watch.tasks() }, logger)
    maintenance = running
    const storeMetrics = new StoreMetrics(store.context)
    const collectMetrics = async (): Promise<Sample[]> => {
      const own = [...samples, ...(await processMetrics.samples()), ...(await storeMetrics.samples())]
      return mergeSamples([...own, ...membershipSamples(folder), ...running.samples(), ...(await pool.samples())])
    }
    const processes = () => pool.processes()
    const shown = { certificate, isServing, isDiskFull: () => watch.isFull, collectMetrics, capacity }
    const over = { store, snapshot: folder.snapshot, directory, objectPort: address.port, processes, ...shown }
    const admin = await openAdmin(config, over, logger)
    consolePort = admin?.port
    pool.broadcast({ do: 'console port', port: consolePort })
    return {
      url: urlOf(certificate === undefined ? 'http' : 'https', address),
      consoleUrl: admin?.url ?? 'off',
      async reload() {
        pool.broadcast({ do: 'reopen' })
        admin?.reopen()
        certificate = await renewedCertificate(config)
        if (certificate === undefined) return
        capacity.certificate = certificate
        pool.broadcast({ do: 'renew', certificate })
        await admin?.renew(certificate)
      },
      async close() {
        isClosing = true
        await pool.stop()
        await admin?.close()
        processMetrics.stop()
        await running.stop()
        await folder.close()
      },
    }
  } catch (error) {
    await pool.abort()
    processMetrics.stop()
    await maintenance?.stop()
    await folder.close()
    throw error
  }
}
