/** The server that `run.sh` started for these tests, and ways to make it fail. */
import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import pg from 'pg'

/** Undefined when the tests are not run through `run.sh`. */
export const serverUrl = process.env.HOLDFAST_POSTGRES_URL

let tables = 0
export const newTable = (): string => `t${process.pid}_${++tables}`

/** A separate connection for the test. */
export async function withAdmin<T>(body: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: serverUrl! })
  admin.on('error', () => {})
  await admin.connect()
  try {
    return await body(admin)
  } finally {
    await admin.end()
  }
}

export function dropTable(table: string): Promise<void> {
  return withAdmin(async admin => {
    await admin.query(`DROP FUNCTION IF EXISTS ${table}_commit`)
    await admin.query(`DROP TABLE IF EXISTS ${table}, ${table}_outcome`)
    await admin.query(`DROP SEQUENCE IF EXISTS ${table}_stamp`)
  })
}

/** The server stops immediately, as in a crash, and restarts. */
export async function crashAndRestart(): Promise<void> {
  await promisify(exec)(process.env.HOLDFAST_POSTGRES_RESTART!)
}

/** A separate database, dropped afterwards. */
export async function withDatabase(prefix: string, use: (url: string) => Promise<void>): Promise<void> {
  const name = `${prefix}_${process.pid}`
  const admin = new pg.Client({ connectionString: serverUrl! })
  await admin.connect()
  try {
    await admin.query(`CREATE DATABASE ${name}`)
    const url = new URL(serverUrl!)
    url.pathname = `/${name}`
    await use(url.href)
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await admin.end()
  }
}
