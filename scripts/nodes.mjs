/**
 * `npm run test:nodes`: runs the tests on the newer supported Nodes, fetched from the npm registry into a separate
 * folder. `npm run test:nodes -- [--all] [--only MAJOR]…`; without `--all`, only tests of parts that differ
 * between Nodes: native modules, HTTP, TLS, threads, processes, streams.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { build, giveUp, installMissing, ROOT, say, succeeds } from './runtime.mjs'

const MAJORS = ['22', '24', '26']
const REPRESENTATIVE = [
  'src/http/connection.test.ts',
  'src/http/body-transfer.test.ts',
  'src/http/incoming-bytes.test.ts',
  'src/http/shared-buffer-socket.test.ts',
  'src/edge/socket-requests.test.ts',
  'src/digest/body-digest.test.ts',
  'src/lib/crc.test.ts',
  'src/digest/digest-threads.test.ts',
  'src/digest/md5-lanes.test.ts',
  'src/lib/liveness-socket.test.ts',
  'src/meta/lmdb/lmdb.test.ts',
  'test/blobs/round-trip.test.ts',
  'test/cli/smoke.test.ts',
  'test/cli/two-workers.test.ts',
  'test/admin/access.test.ts',
  'test/admin/failed-answers.test.ts',
  'test/embedded/life.test.ts',
  'test/http/CompleteMultipartUpload.test.ts',
  'test/http/CopyObject.test.ts',
  'test/http/GetObject.test.ts',
  'test/http/ListObjects.test.ts',
  'test/http/PutObject.test.ts',
  'test/http/attacks-http.test.ts',
  'test/http/broken-answers.test.ts',
  'test/http/connections.test.ts',
  'test/http/encryption.test.ts',
  'test/http/failed-reads.test.ts',
  'test/http/large-bodies.test.ts',
  'test/http/short-bodies.test.ts',
  'test/http/socket-connections.test.ts',
  'test/http/socket-reads.test.ts',
  'test/http/unread-bodies.test.ts',
  'test/runtime-check.test.ts',
  'test/serve.test.ts',
]

const { values } = parseArgs({
  options: { all: { type: 'boolean', default: false }, only: { type: 'string', multiple: true } },
})
const majors = values.only ?? MAJORS
const unknown = majors.filter(major => !MAJORS.includes(major))
if (unknown.length > 0) giveUp(`unknown Node ${unknown.join(', ')}: ${MAJORS.join(', ')}`, 2)

/** The registry has a package with the binary for each platform, and none of them runs a script when installed. */
function nodeOf(major) {
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(ROOT, 'node_modules', '.cache', 'nodes', major)
  const command = join(folder, 'node_modules', name, 'bin', 'node')
  if (!existsSync(command)) {
    say(`fetching Node ${major}`)
    mkdirSync(folder, { recursive: true })
    const quiet = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock']
    if (!succeeds('npm', ['install', '--prefix', folder, ...quiet, `${name}@${major}`])) {
      giveUp(`Node ${major} cannot be had: npm has no ${name}@${major}`)
    }
  }
  return command
}

installMissing()
build()
const env = { ...process.env }
delete env.HOLDFAST_RUNTIME
for (const major of majors) {
  const args = [join(ROOT, 'scripts', 'test.mjs'), ...(values.all ? [] : REPRESENTATIVE)]
  const { status } = spawnSync(nodeOf(major), args, { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) giveUp(`the tests failed on Node ${major}`)
}
