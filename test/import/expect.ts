/** Compares every version of a bucket with the seeded state. */
import { createHash } from 'node:crypto'
import { children, childText, type XmlNode } from '../../src/lib/xml.ts'
import { parseXml } from '../../src/lib/xml-reader.ts'
import type { S3Client } from '../../src/s3/client.ts'
import type { Expected, Seeded } from './seed.ts'

interface Found {
  readonly versionId: string
  readonly marker: boolean
}

const IN_FLIGHT = 16
const ALL_USERS = 'http://acs.amazonaws.com/groups/global/AllUsers'

/** Oldest first, as the server orders them. */
async function listed(client: S3Client): Promise<Map<string, Found[]>> {
  const found = new Map<string, Found[]>()
  let at: Record<string, string | undefined> = {}
  let root: XmlNode
  do {
    root = parseXml((await client.request({ method: 'GET', query: { versions: '', ...at } })).body)
    for (const node of root.children.filter(({ name }) => name === 'Version' || name === 'DeleteMarker')) {
      const key = childText(node, 'Key')!
      const versions = found.get(key) ?? []
      found.set(key, [{ versionId: childText(node, 'VersionId')!, marker: node.name === 'DeleteMarker' }, ...versions])
    }
    at = { 'key-marker': childText(root, 'NextKeyMarker'), 'version-id-marker': childText(root, 'NextVersionIdMarker') }
  } while (childText(root, 'IsTruncated') === 'true')
  return found
}

async function faultsOf(client: S3Client, key: string, versionId: string, expected: Expected): Promise<string[]> {
  const faults: string[] = []
  const { headers: said, body } = await client.request({ method: 'GET', key, query: { versionId } })
  if (createHash('md5').update(body).digest('hex') !== expected.md5) faults.push('other bytes')
  for (const [name, value] of expected.headers) {
    const is = said.get(name)
    const isSame = name.endsWith('-date') ? Date.parse(is ?? '') === Date.parse(value) : is === value
    if (!isSame) faults.push(`${name} is ${is}, not ${value}`)
  }
  if (!expected.headers.some(([name]) => name === ':object-lock-legal-hold')) {
    if (said.get(':object-lock-legal-hold') === 'ON') faults.push('a hold from nowhere')
  }
  const [set] = children(
    parseXml((await client.request({ method: 'GET', key, query: { tagging: '', versionId } })).body),
    'TagSet',
  )
  const tags = children(set!, 'Tag').map(tag => [childText(tag, 'Key')!, childText(tag, 'Value')!] as const)
  // Sources keep them in any order.
  const inWords = (pairs: readonly (readonly [string, string])[]): string => JSON.stringify(pairs.toSorted())
  if (inWords(tags) !== inWords(Object.entries(expected.tags))) faults.push(`tags are ${JSON.stringify(tags)}`)
  const acl = (await client.request({ method: 'GET', key, query: { acl: '', versionId } })).body.toString('utf8')
  if (acl.includes(ALL_USERS) !== expected.isPublic) faults.push(expected.isPublic ? 'no longer public' : 'public')
  return faults
}

/** Every difference, as text; empty when the bucket is exactly as seeded. */
export async function differences(client: S3Client, seeded: Seeded): Promise<string[]> {
  const found = await listed(client)
  const bad: string[] = []
  for (const key of found.keys()) if (!seeded.has(key)) bad.push(`${key}: was never there`)
  const keys = seeded.entries()
  const worker = async (): Promise<void> => {
    for (const [key, expected] of keys) {
      const versions = found.get(key) ?? []
      const shape = (markers: readonly boolean[]): string => markers.map(marker => (marker ? 'm' : 'v')).join('')
      const [is, should] = [
        shape(versions.map(({ marker }) => marker)),
        shape(expected.map(({ md5 }) => md5 === undefined)),
      ]
      if (is !== should) {
        bad.push(`${key}: ${is || 'nothing'} instead of ${should}`)
        continue
      }
      for (const [index, { versionId, marker }] of versions.entries()) {
        if (marker) continue
        const faults = await faultsOf(client, key, versionId, expected[index]!)
        bad.push(...faults.map(fault => `${key}, version ${index + 1}: ${fault}`))
      }
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  return bad
}
