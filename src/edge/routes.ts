/**
 * Routing is data. Among the rows of a method and level, the one with the most requirements wins, all of which the
 * request meets; two rows that could match the same request are refused at start.
 */
import { Fault, notImplemented } from '../model/faults.ts'
import type { HttpMethod, Operation, ResourceLevel } from '../operations/operation.ts'
import { headerName } from '../rules/access/names.ts'
import type { DecodedRequest } from './wire-form.ts'

/** R10, R11. Known sub-resources that are not offered: refused as such, never handled as another operation. */
export const UNSUPPORTED_SUBRESOURCES: ReadonlySet<string> = new Set([
  'abac',
  'accelerate',
  'analytics',
  'intelligent-tiering',
  'inventory',
  'metadataConfiguration',
  'metadataInventoryTable',
  'metadataJournalTable',
  'metadataTable',
  'metrics',
  'notification',
  'renameObject',
  'replication',
  'restore',
  'select',
  'session',
  'torrent',
])

/**
 * Headers that turn a request into another operation, or condition it in a way that is not offered. Ignoring them would
 * make a rename or an append overwrite, and a conditional delete unconditional.
 */
export const UNSUPPORTED_HEADERS = [
  ':rename-source',
  ':write-offset-bytes',
  ':if-match-initiated-time',
  ':if-match-last-modified-time',
  ':if-match-size',
] as const

const METHODS: readonly HttpMethod[] = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE']

export interface Routes {
  find(method: string, level: ResourceLevel, request: DecodedRequest): Operation
}

/** An operation with its requirements parsed. */
interface Row {
  readonly operation: Operation
  readonly needs: readonly { readonly name: string; readonly isHeader: boolean; readonly value: string | undefined }[]
  /** The names of its requirements, query names without their mark. */
  readonly names: ReadonlySet<string>
}

function rowOf(operation: Operation): Row {
  const needs = needsOf(operation).map(need => {
    const isHeader = need.startsWith(':')
    const [name = '', value] = isHeader ? [need] : need.slice(1).split('=')
    return { name, isHeader, value }
  })
  return { operation, needs, names: new Set(needs.map(({ name }) => name)) }
}

const areMet = ({ needs }: Row, request: DecodedRequest): boolean => {
  for (const need of needs) if (!isMet(need, request)) return false
  return true
}

const isMet = ({ name, isHeader, value }: Row['needs'][number], request: DecodedRequest): boolean => {
  const sent = isHeader ? request.header(name) : request.query(name)
  return value === undefined ? sent !== undefined : sent === value
}

/** Names of query parameters that select an operation. */
function subresources(operations: readonly Operation[]): Set<string> {
  const names = operations.flatMap(({ match }) => match.requires ?? []).filter(need => need.startsWith('?'))
  return new Set(names.map(need => need.slice(1).split('=')[0]!))
}

export function routeTable(operations: readonly Operation[]): Routes {
  const slots: Record<ResourceLevel, Map<string, Row[]>> = { service: new Map(), bucket: new Map(), object: new Map() }
  for (const operation of operations) {
    const { method, on } = operation.match
    const rows = slots[on].get(method) ?? []
    const duplicate = rows.find(row => sameNeeds(row.operation, operation))
    if (duplicate !== undefined)
      throw new Error(`${duplicate.operation.name} and ${operation.name} both answer ${method} ${on}`)
    rows.push(rowOf(operation))
    rows.sort((a, b) => b.needs.length - a.needs.length)
    slots[on].set(method, rows)
  }
  const known = subresources(operations)
  const matching = (method: string, level: ResourceLevel, request: DecodedRequest): Operation | undefined => {
    for (const row of slots[level].get(method) ?? []) {
      if (areMet(row, request)) return hasOtherSubresource(row, known, request) ? undefined : row.operation
    }
    return undefined
  }
  return {
    find(method, level, request) {
      for (const name of request.queryNames)
        if (UNSUPPORTED_SUBRESOURCES.has(name)) throw notImplemented('sub-resource', name)
      if (method === 'PUT') refuseIncompletePart(request)
      const found = matching(method, level, request)
      for (const name of UNSUPPORTED_HEADERS) {
        if (request.header(name) === undefined || found?.evaluates.includes(name) === true) continue
        throw notImplemented('header', headerName(name.slice(1)))
      }
      if (found !== undefined) return found
      const allow = METHODS.filter(other => matching(other, level, request) !== undefined).join(', ')
      if (allow === '') refuseConflictingSubresources(known, request)
      if (method === 'GET' && level === 'object') refuseListingOfKey(request)
      throw new Fault('MethodNotAllowed', { Method: method, ResourceType: level.toUpperCase(), allow })
    },
  }
}

/** A part without its number or upload id must not be stored as an object. */
function refuseIncompletePart(request: DecodedRequest): void {
  const [number, upload] = [request.query('partNumber'), request.query('uploadId')]
  if ((number === undefined) === (upload === undefined)) return
  const reason = number === undefined ? 'uploadId requires partNumber' : 'partNumber requires uploadId'
  throw new Fault('InvalidArgument', { ArgumentName: 'partNumber', reason })
}

/** No operation has two sub-resources, and choosing one of them could run the wrong operation. */
function refuseConflictingSubresources(known: ReadonlySet<string>, request: DecodedRequest): void {
  const names = [...request.queryNames].filter(name => known.has(name) && !SHARED_PARAMETERS.has(name))
  if (names.length < 2) return
  const reason = `Conflicting query string parameters: ${names.join(', ')}`
  throw new Fault('InvalidArgument', { ArgumentName: 'ResourceType', ArgumentValue: names[0], reason })
}

/** Listings concern buckets; for a key S3 responds with these texts. */
function refuseListingOfKey(request: DecodedRequest): void {
  const refused = (reason: string): Fault => new Fault('InvalidRequest', { reason })
  if (request.query('uploads') !== undefined)
    throw refused('Key is not expected for the GET method ?uploads subresource')
  if (request.query('versions') !== undefined) {
    throw refused('There is no such thing as the ?versions sub-resource for a key')
  }
}

const needsOf = ({ match }: Operation): readonly string[] => match.requires ?? []

function sameNeeds(a: Operation, b: Operation): boolean {
  return [...needsOf(a)].sort().join() === [...needsOf(b)].sort().join()
}

/** A sub-resource of another operation must not be ignored, or the request would run as a plain GET or PUT. */
function hasOtherSubresource({ names }: Row, known: ReadonlySet<string>, request: DecodedRequest): boolean {
  for (const name of request.queryNames)
    if (known.has(name) && !names.has(name) && !SHARED_PARAMETERS.has(name)) return true
  return false
}

/** Parameters that select one operation and are ordinary input of another. */
const SHARED_PARAMETERS: ReadonlySet<string> = new Set(['partNumber', 'list-type', 'versionId'])
