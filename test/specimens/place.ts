/** Creates the buckets and uploads that specimens work on, and recreates those that one has consumed. */

import { parseXml } from '../../src/lib/xml-reader.ts'
import { text } from '../http/actions.ts'
import { type Asked, type Case, cases, type DialectName, PART, type Place, type Specimen } from './specimens.ts'

export type Send = (
  what: Asked & { readonly method: string },
) => Promise<{ readonly status: number; readonly body: Buffer }>

async function expect(status: readonly number[], send: Send, what: Parameters<Send>[0]): Promise<Buffer> {
  const answer = await send(what)
  if (!status.includes(answer.status)) {
    throw new Error(`${what.method} ${what.bucket ?? ''}${what.path}: ${answer.status} ${answer.body}`)
  }
  return answer.body
}

async function beginUpload(send: Send, bucket: string): Promise<string> {
  const begun = await expect([200], send, { method: 'POST', bucket, path: '/upload?uploads' })
  const uploadId = text(parseXml(begun), 'UploadId')!
  await expect([200], send, { method: 'PUT', bucket, path: `/upload?partNumber=1&uploadId=${uploadId}`, body: PART })
  return uploadId
}

/** Existing buckets stay. */
export async function makePlace(send: Send, names: Omit<Place, 'uploadId'>): Promise<Place> {
  const { bucket, locked, empty, key } = names
  const there = [200, 409]
  await expect(there, send, { method: 'PUT', bucket, path: '/' })
  await expect(there, send, { method: 'PUT', bucket: empty, path: '/' })
  const locks = [[':bucket-object-lock-enabled', 'true']] as const
  await expect(there, send, { method: 'PUT', bucket: locked, path: '/', headers: locks })
  for (const one of [bucket, locked]) {
    await expect([200], send, { method: 'PUT', bucket: one, path: `/${key}`, body: 'what is stored' })
  }
  return { ...names, uploadId: await beginUpload(send, bucket) }
}

/** Recreates whatever this specimen consumes. */
export async function renewed(send: Send, place: Place, uses: Specimen['uses']): Promise<Place> {
  if (uses === 'upload') return { ...place, uploadId: await beginUpload(send, place.bucket) }
  if (uses === 'empty') await expect([200, 409], send, { method: 'PUT', bucket: place.empty, path: '/' })
  if (uses === 'fresh') await expect([204, 404], send, { method: 'DELETE', bucket: place.fresh, path: '/' })
  return place
}

/** A document must be set before it is read: its PUT precedes its GET. */
export async function setBefore(send: Send, one: Case, place: Place, dialect: DialectName): Promise<void> {
  if (one.operation.match.method !== 'GET') return
  const route = one.route.replace(/^GET/, 'PUT').replace('?policyStatus', '?policy')
  const setting = cases().find(other => other.route === route && route.includes('?') && !route.includes('uploadId'))
  if (setting === undefined) return
  const asked = setting.specimen.ask(place, dialect)
  await expect([200, 204], send, { method: 'PUT', ...asked })
}
