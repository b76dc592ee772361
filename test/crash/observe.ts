/** Compares the contents of a store, by listings and by reading every byte, with the expectation. */
import { createHash } from 'node:crypto'
import type { ListedVersion } from '../../src/store/listing/listing.ts'
import type { Store } from '../../src/store/store.ts'
import {
  BUCKETS,
  type BucketName,
  type Expectation,
  type KeyState,
  labelOf,
  type Name,
  nameOf,
  UNKNOWN,
} from './model.ts'
import { digestOf, sizeOf } from './payload.ts'

/** Small, so that every check crosses page boundaries. */
const PAGE = 50

export interface Observation {
  readonly problems: readonly string[]
  readonly versions: number
  readonly bytes: number
}

interface Found {
  readonly id: string
  readonly marker: boolean
  readonly hold: boolean
  readonly size: number
  /** SHA-256, or why it could not be read. */
  readonly digest: string
}

async function allVersions(store: Store, bucket: BucketName, prefix = ''): Promise<ListedVersion[]> {
  const out: ListedVersion[] = []
  for (let after: { key: string; versionId: string } | undefined; ; ) {
    const page = await store.listing.versions({ bucket, prefix, limit: PAGE, ...(after && { after }) })
    out.push(...page.items)
    if (page.next === undefined) return out
    const last = page.items.at(-1)!
    after = { key: last.key, versionId: last.version.id }
  }
}

async function currentKeys(store: Store, bucket: BucketName): Promise<string[]> {
  const out: string[] = []
  for (let after: string | undefined; ; ) {
    const page = await store.listing.objects({ bucket, limit: PAGE, after })
    out.push(...page.items.map(item => item.key))
    if (page.next === undefined) return out
    after = page.next.key
  }
}

/** Everything a client can see of a version: its record as found by name, and all its bytes. */
async function look(store: Store, name: Name, { version }: ListedVersion): Promise<Found> {
  const { id, marker, size } = version
  if (marker) return { id, marker, size, hold: false, digest: digestOf([]) }
  const hash = createHash('sha256')
  let hold = false
  try {
    const handle = await store.objects.open({ ...name, versionId: id })
    hold = handle.version.lock.hold === true
    for await (const chunk of handle.read()) hash.update(chunk)
  } catch (error) {
    return { id, marker, hold, size, digest: String(error) }
  }
  return { id, marker, hold, size, digest: hash.digest('hex') }
}

/** Undefined when the state matches, else the first difference. */
function difference(found: readonly Found[], state: KeyState): string | undefined {
  const ids = found.map(one => one.id).join()
  if (found.length !== state.length) return `${found.length} versions (${ids}) instead of ${state.length}`
  for (const [index, expected] of state.entries()) {
    const one = found[index]!
    const at = `version ${index} (${one.id})`
    if (expected.id !== UNKNOWN && expected.id !== one.id) return `${at} instead of ${expected.id}`
    if (expected.marker !== one.marker) return `${at}: marker ${one.marker}`
    if (expected.hold !== one.hold) return `${at}: hold ${one.hold}`
    if (digestOf(expected.pieces) !== one.digest) {
      const wanted = `${sizeOf(expected.pieces)} of ${JSON.stringify(expected.pieces)}`
      return `${at}: ${one.size} bytes ${one.digest} instead of ${wanted}`
    }
  }
  return undefined
}

/** Finds which of the valid states a key is in, and settles the expectation on it; or returns the problem. */
function compare(expectation: Expectation, name: Name, found: readonly Found[]): string | undefined {
  const differences: string[] = []
  for (const state of expectation.candidates(name)) {
    const different = difference(found, state)
    if (different === undefined) {
      const settled = state.map((stored, index) => ({ ...stored, id: found[index]!.id }))
      expectation.settle(name, settled)
      return undefined
    }
    differences.push(different)
  }
  return `${labelOf(name)}: ${differences.join('; and: ')}`
}

export async function observe(store: Store, expectation: Expectation): Promise<Observation> {
  const problems: string[] = []
  const found = new Map<string, Found[]>()
  let versions = 0
  let bytes = 0
  for (const bucket of BUCKETS) {
    const listed = await allVersions(store, bucket)
    const current: string[] = []
    for (const item of listed) {
      const name = { bucket, key: item.key }
      const one = await look(store, name, item)
      versions++
      bytes += one.size
      const list = found.get(labelOf(name)) ?? []
      if (item.latest !== (list.length === 0)) problems.push(`${labelOf(name)}@${one.id}: latest is ${item.latest}`)
      if (item.latest && !one.marker) current.push(item.key)
      found.set(labelOf(name), [...list, one])
    }
    const shown = await currentKeys(store, bucket)
    if (shown.join('\n') !== current.join('\n')) {
      problems.push(`${bucket}: the plain listing shows ${shown.length} keys, the versions say ${current.length}`)
    }
  }
  for (const label of new Set([...expectation.labels(), ...found.keys()])) {
    const problem = compare(expectation, nameOf(label), found.get(label) ?? [])
    if (problem !== undefined) problems.push(problem)
  }
  return { problems, versions, bytes }
}

/** Checks a single key. */
export async function observeKey(store: Store, expectation: Expectation, name: Name): Promise<string | undefined> {
  const found: Found[] = []
  for (const item of await allVersions(store, name.bucket, name.key)) {
    if (item.key === name.key) found.push(await look(store, name, item))
  }
  return compare(expectation, name, found)
}
