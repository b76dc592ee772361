/**
 * `npm run test:import`: installs and builds what is missing, then imports buckets from other servers, with kills.
 * `npm run test:import -- [--objects N] [--only NAME]… [--moto BIN] [--minio PROGRAM] [--versitygw PROGRAM]`; BIN is the
 * folder with the programs of an installed moto; without it moto is installed. The last two are skipped if not installed.
 */
import { join } from 'node:path'
import { become, build, installMissing, ROOT } from './runtime.mjs'

installMissing()
build()
const program = join(ROOT, 'dist', 'test', 'import', 'run.js')
become(process.execPath, ['--enable-source-maps', program, ...process.argv.slice(2)])
