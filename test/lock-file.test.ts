/** `npm ci` accepts a lock file only if it is complete, including packages for other platforms. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

interface Locked {
  readonly resolved?: string
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> }

test('the lock file has every dependency, for all platforms', () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter(name => !(`${path}/node_modules/${name}` in packages) && !(`node_modules/${name}` in packages))
      .map(name => `${path}: ${name}`),
  )
  assert.deepEqual(missing, [])
})

test('the lock file has a checksum of every package and names no registry', () => {
  const others = Object.entries(packages).filter(([path]) => path !== '')
  assert.deepEqual(
    others.filter(([, { integrity, resolved }]) => integrity === undefined || resolved !== undefined),
    [],
  )
})
