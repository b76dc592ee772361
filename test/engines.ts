/**
 * Engines that suites use in place of a folder, when `npm run test:cluster -- --suite NAME` has started them: a
 * database and a namespace of a pool for each data folder, so that every process on that folder finds the same ones.
 */
import { createHash } from 'node:crypto'
import pg from 'pg'

export const { HOLDFAST_TEST_POSTGRES: SERVER, HOLDFAST_TEST_RADOS: POOL } = process.env
const DUPLICATE_DATABASE = '42P04'

export interface Engines {
  readonly metaUrl: string
  readonly blobsPlace: string
}

export const onEngines = SERVER !== undefined && POOL !== undefined

/** For tests that replace a read of the engine: one behind a network is read in another way. */
export const localOnly = { skip: onEngines && 'it interrupts single reads; read-ahead.test.ts does so with many' }

/** Undefined when the folder has everything. */
export async function enginesOf(folder: string): Promise<Engines | undefined> {
  if (SERVER === undefined || POOL === undefined) return undefined
  const name = `t${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  await createDatabase(SERVER, name)
  const [metaUrl, blobsPlace] = [new URL(SERVER), new URL(POOL)]
  metaUrl.pathname = blobsPlace.pathname = `/${name}`
  return { metaUrl: metaUrl.href, blobsPlace: blobsPlace.href }
}

/** For the program. */
export async function engineFlags(folder: string): Promise<readonly string[]> {
  const engines = await enginesOf(folder)
  return engines === undefined ? [] : ['--meta', engines.metaUrl, '--blobs', engines.blobsPlace]
}

async function createDatabase(server: string, name: string): Promise<void> {
  const admin = new pg.Client({ connectionString: server })
  await admin.connect()
  try {
    await admin.query(`CREATE DATABASE ${name}`)
  } catch (error) {
    if ((error as { code?: string }).code !== DUPLICATE_DATABASE) throw error
  } finally {
    await admin.end()
  }
}
