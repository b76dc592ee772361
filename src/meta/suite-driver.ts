/** The interface that the driver suite needs from a driver, and helpers of its tests. */
import type { KeyRange, Meta, MetaEngine, Stamp, Write } from './meta.ts'

interface Opened {
  readonly meta: MetaEngine
  /** Location for another process: a folder, or a PostgreSQL address with the table after `#`. */
  readonly where?: string
  /** The same records, opened again after the first engine was closed. */
  reopen?(): Promise<Meta>
  destroy(): Promise<void>
}

export interface Driver {
  readonly name: string
  /** True when the records outlive the process: then `where` and `reopen` are present. */
  readonly durable: boolean
  /** A new, empty engine. */
  open(): Promise<Opened>
}

export type SuiteTest = (title: string, body: (opened: Opened) => Promise<void>) => void

export const utf8 = (text: string): Buffer => Buffer.from(text, 'latin1')
export const putOne = (key: string, value: string): Write => ({ key: utf8(key), value: utf8(value) })
export const remove = (key: string): Write => ({ key: utf8(key), value: undefined })
export const ALL: KeyRange = { start: Buffer.alloc(0), end: undefined }

export async function stampOf(meta: Meta, key: string): Promise<Stamp | undefined> {
  return (await meta.get(utf8(key)))?.stamp
}

export async function utf8Text(meta: Meta, key: string): Promise<string | undefined> {
  return (await meta.get(utf8(key)))?.value.toString('latin1')
}

/** Reads, adds one and commits with a check: true when the commit succeeded. */
export async function incrementOnce(meta: Meta, key: string, onSuccess?: (value: number) => void): Promise<boolean> {
  const entry = await meta.get(utf8(key))
  const next = Number(entry?.value.toString() ?? 0) + 1
  const checks = [{ key: utf8(key), stamp: entry?.stamp }]
  const isCommitted = await meta.commit({ checks, writes: [putOne(key, `${next}`)] })
  if (isCommitted) onSuccess?.(next)
  return isCommitted
}

export async function increment(
  meta: Meta,
  key: string,
  times: number,
  onSuccess?: (value: number) => void,
): Promise<void> {
  for (let done = 0; done < times; ) if (await incrementOnce(meta, key, onSuccess)) done++
}
